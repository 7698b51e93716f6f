import { render } from 'preact';
import { App } from './app/app.browser.tsx';
import { call } from './app/api.browser.ts';
import { follow } from './app/store.browser.ts';
import { tellError } from './ui/messages.browser.tsx';

// Starts the dashboard in the browser. `playwright-pool dashboard` opens a link that signs in.
const [, link] = /^#sign-in=([\w-]+)$/.exec(location.hash) ?? [];

render(<App />, document.querySelector('#dashboard')!);
if (link === undefined) follow();
else void signInWith(link);

async function signInWith(token: string): Promise<void> {
  // The link works once. Keep it out of the browser's history.
  history.replaceState(null, '', '/');
  await call('POST', '/dashboard/sign-in', { body: { link: token } }).catch(tellError);
  follow();
}
