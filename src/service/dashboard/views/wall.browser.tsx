import { useEffect, useRef, useState } from 'preact/hooks';
import { hrefOf, type View, type ViewProps } from '../app/place.browser.ts';
import { Age } from '../ui/time.browser.tsx';
import { Filter } from '../ui/toolbar.browser.tsx';
import { counted, machineName, matches } from '../ui/format.browser.ts';
import { leasesOf, type Lease } from '../ui/leases.browser.ts';

/** The view with a small live picture of each leased session. */
export const wall: View = { id: 'wall', title: 'Wall', component: Wall };

const intervalMs = 2000;

function Wall({ state, params }: ViewProps) {
  const leased = leasesOf(state).filter(({ endedAt }) => endedAt === undefined);
  const shown = leased
    .filter(({ id, title, file, name, run, worker, machine }) =>
      matches(params['q'] ?? '', title, file, name, run, worker, machine, id),
    )
    .sort((one, other) => one.startedAt - other.startedAt);
  return (
    <>
      <div class="toolbar">
        <Filter label="Filter by test, file, run, worker or machine" value={params['q']} />
        <p class="quiet">
          {shown.length === leased.length
            ? counted(leased.length, 'session')
            : `${shown.length} of ${counted(leased.length, 'session')}`}
        </p>
      </div>
      {shown.length === 0 ? (
        <p class="empty">{leased.length === 0 ? 'No session is in use.' : 'No session fits the filter.'}</p>
      ) : (
        <ul class="wall">
          {shown.map((lease) => (
            <Screen key={lease.id} lease={lease} />
          ))}
        </ul>
      )}
    </>
  );
}

function Screen({ lease }: { lease: Lease }) {
  const { id, title, file, worker, machine, startedAt } = lease;
  const place = [file, worker && `worker ${worker}`, machine && machineName(machine)].filter(Boolean).join(' · ');
  return (
    <li class="screen">
      <a href={`/dashboard/live/${id}`} target="_blank" rel="noreferrer">
        <span class="unseen">Live view of {title}</span>
        <Thumbnail id={id} />
      </a>
      <div class="caption">
        <a href={hrefOf('leases', { session: id })} class="title" title={title}>
          {title}
        </a>
        <span class="quiet number">
          <Age since={startedAt} />
        </span>
        <span class="quiet place">{place}</span>
      </div>
    </li>
  );
}

type Picture = { tag: string | null; source: string | undefined; url: string };

/** The picture of a session. Asks for it only while it is in view. */
function Thumbnail({ id }: { id: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [picture, setPicture] = useState<Picture>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last: string | null | undefined;
    let isInView = false;
    const stop = new AbortController();
    const ask = async () => {
      timer = undefined;
      if (document.hidden) return wait();
      try {
        const response = await fetch(`/dashboard/thumbnails/${id}`, { signal: stop.signal, cache: 'no-cache' });
        const tag = response.headers.get('etag');
        if (response.ok && (tag === null || tag !== last)) {
          const source = response.status === 204 ? undefined : await dataUrl(await response.blob());
          last = tag;
          setPicture({ tag, source, url: decodeURIComponent(response.headers.get('x-page-url') ?? '') });
        }
      } catch {
        // The service doesn't answer, or the picture is out of view.
      }
      wait();
    };
    const wait = () => {
      if (isInView && !stop.signal.aborted) timer ??= setTimeout(() => void ask(), intervalMs);
    };
    const observer = new IntersectionObserver((entries) => {
      const wasInView = isInView;
      isInView = entries.at(-1)!.isIntersecting;
      if (isInView && !wasInView) timer ??= setTimeout(() => void ask());
      if (isInView) return;
      clearTimeout(timer);
      timer = undefined;
    });
    observer.observe(box.current!);
    return () => {
      observer.disconnect();
      clearTimeout(timer);
      stop.abort();
    };
  }, [id]);
  return (
    <div class="thumbnail" ref={box}>
      {picture?.source ? (
        <img src={picture.source} alt="" />
      ) : (
        <span class="quiet">{picture ? 'No page is open' : 'Loading…'}</span>
      )}
      {picture?.url && <span class="url">{picture.url}</span>}
    </div>
  );
}

/** Turns an image into a data URL, because the content security policy allows no other images. */
function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(reader.result as string));
    reader.addEventListener('error', () => reject(reader.error ?? new Error('the picture could not be read')));
    reader.readAsDataURL(blob);
  });
}
