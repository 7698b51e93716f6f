import { useEffect, useRef, useState } from 'preact/hooks';
import type { DeploymentEvent } from '../../../contract/deployments.ts';
import type { InvocationEvent } from '../../../contract/invocations.ts';
import { events } from '../app/api.browser.ts';
import { hrefOf } from '../app/place.browser.ts';

type Props = { kind: 'deployments' | 'invocations'; id: string; tab: string; project: string | undefined };
type Event = DeploymentEvent | InvocationEvent;
type Line = { at: string; text: string };

const mostLines = 2000;

/** The log of a deployment or an invocation. It grows until its process ends. */
export function AppLog({ kind, id, tab, project }: Props) {
  const [lines, setLines] = useState<Line[]>([]);
  const [state, setState] = useState('Loading…');
  const [error, setError] = useState<string>();
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const leave = new AbortController();
    let waiting: Line[] = [];
    const show = () => {
      const added = waiting;
      waiting = [];
      setLines((before) => [...before, ...added].slice(-mostLines));
    };
    const take = (event: Event) => {
      if (event.event === 'log') {
        if (waiting.length === 0) setTimeout(show, 50);
        waiting.push({ at: event.timestamp, text: event.message.replace(/\n$/, '') });
      } else if (event.event === 'deployment_state') setState(event.deployment.status.replace('_', ' '));
      else if (event.event === 'invocation_state') setState(event.invocation.status);
      else if (event.event === 'error') setError(event.error.message);
    };
    const follow = async () => {
      const options = { project, signal: leave.signal };
      for await (const event of events<Event>(`/${kind}/${encodeURIComponent(id)}/events`, options)) take(event);
    };
    follow().catch((reason: unknown) => {
      if (!leave.signal.aborted) setError(reason instanceof Error ? reason.message : String(reason));
    });
    return () => leave.abort();
  }, [kind, id, project]);
  useEffect(() => {
    if (isAtEnd.current) box.current!.scrollTop = box.current!.scrollHeight;
  }, [lines]);
  const noteScroll = ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }: { currentTarget: HTMLElement }) => {
    isAtEnd.current = scrollTop + clientHeight > scrollHeight - 20;
  };
  return (
    <>
      <div class="toolbar">
        <a class="button" href={hrefOf('apps', { tab: tab === 'versions' ? undefined : tab, project })}>
          Back
        </a>
        <h2 class="title">
          Log of the {kind.slice(0, -1)} {id}
        </h2>
        <span class="badge" role="status">
          {state}
        </span>
      </div>
      {error !== undefined && <p role="alert">{error}</p>}
      <pre class="log" ref={box} tabIndex={0} role="log" aria-label="Log" aria-live="off" onScroll={noteScroll}>
        {lines.length === 0 ? 'No line was written yet.' : lines.map(lineText).join('\n')}
      </pre>
    </>
  );
}

function lineText({ at, text }: Line): string {
  return `${new Date(at).toLocaleTimeString()}  ${text}`;
}
