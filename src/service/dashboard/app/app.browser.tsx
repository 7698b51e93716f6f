import { useEffect, useState } from 'preact/hooks';
import { call } from './api.browser.ts';
import { hrefOf, usePlace, type View } from './place.browser.ts';
import { SignIn } from './sign-in.browser.tsx';
import { signedOut, useLive, type Connection } from './store.browser.ts';
import { attempt, Messages } from '../ui/messages.browser.tsx';
import { Palette } from '../ui/palette.browser.tsx';
import { ThemeButton, useTheme } from '../ui/theme.browser.tsx';
import { home, views } from '../views/list.browser.ts';

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** The dashboard's frame: navigation, search, sign-out, and the view that the URL names. */
export function App() {
  const { connection, state, history } = useLive();
  const place = usePlace();
  const [theme, setTheme] = useTheme();
  const [isSearching, setSearching] = useState(false);
  const isOpen = ({ id, isForOrganization }: View) =>
    !isForOrganization || (state ? state.service.project_id === undefined : id === place.view);
  const view = views.find((other) => other.id === place.view && isOpen(other)) ?? home;
  const { component: Component } = view;

  useEffect(() => {
    document.title = connection === 'signed-out' ? 'Sign in · playwright-pool' : `${view.title} · playwright-pool`;
  }, [view, connection]);
  useEffect(() => {
    // On a phone the navigation scrolls sideways.
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [view, state === undefined]);
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setSearching(true);
    };
    addEventListener('keydown', listener);
    return () => removeEventListener('keydown', listener);
  }, []);

  if (connection === 'signed-out')
    return (
      <>
        <SignIn />
        <Messages />
      </>
    );
  return (
    <div class="shell">
      <a class="unseen skip" href="#main" onClick={focusMain}>
        Skip to the content
      </a>
      <header class="bar">
        <a class="brand" href={hrefOf(home.id)}>
          playwright-pool
        </a>
        <State connection={connection} isDraining={state?.service.draining ?? false} />
        <div class="tools">
          <button type="button" class="search" onClick={() => setSearching(true)} aria-keyshortcuts="Control+K Meta+K">
            Search <kbd>{isMac ? '⌘K' : 'Ctrl K'}</kbd>
          </button>
          <ThemeButton theme={theme} onChange={setTheme} />
          <button type="button" onClick={() => void attempt('Signed out', signOut)}>
            Sign out
          </button>
        </div>
      </header>
      <nav aria-label="Views">
        {views.filter(isOpen).map(({ id, title }) => (
          <a key={id} href={hrefOf(id)} {...(id === view.id && { 'aria-current': 'page' as const })}>
            {title}
          </a>
        ))}
        {state && (
          <p class="key">
            Key {state.service.key}
            {state.service.project_id !== undefined && `, project ${state.service.projects[0]?.name ?? ''}`}
            <br />
            version {state.service.version}
          </p>
        )}
      </nav>
      <main id="main" tabIndex={-1} class={connection === 'lost' ? 'old' : ''}>
        <h1>{view.title}</h1>
        {state ? (
          <Component state={state} history={history} params={place.params} />
        ) : (
          <p class="quiet">{connection === 'connecting' ? 'Connecting…' : 'The service does not answer.'}</p>
        )}
      </main>
      {isSearching && state && (
        <Palette state={state} views={views.filter(isOpen)} onClose={() => setSearching(false)} />
      )}
      <Messages />
    </div>
  );
}

function State({ connection, isDraining }: { connection: Connection; isDraining: boolean }) {
  const [text, tone] = isDraining && connection === 'live' ? (['Draining', 'warn'] as const) : states[connection];
  return (
    <p role="status" class="badge" data-tone={tone}>
      {text}
    </p>
  );
}

const states: Record<Connection, readonly [text: string, tone: string]> = {
  connecting: ['Connecting…', ''],
  live: ['Live', 'good'],
  lost: ['No answer. Trying again…', 'bad'],
  'signed-out': ['Signed out', ''],
};

async function signOut(): Promise<void> {
  await call('POST', '/dashboard/sign-out');
  signedOut();
}

function focusMain(event: Event): void {
  // The URL's hash names the view.
  event.preventDefault();
  document.querySelector<HTMLElement>('#main')?.focus();
}
