import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { call } from './api.browser.ts';
import { connect } from './store.browser.ts';

/** The form that takes an API key. The key goes to the service once and isn't stored in the browser. */
export function SignIn() {
  const field = useRef<HTMLInputElement>(null);
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  // Chromium warns of the attribute `autofocus` if a person was faster.
  useLayoutEffect(() => field.current?.focus(), []);
  const signIn = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await call('POST', '/dashboard/sign-in', { body: { api_key: field.current!.value.trim() } });
      connect();
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
      setBusy(false);
      field.current!.select();
    }
  };
  return (
    <main class="sheet">
      <h1>Sign in to playwright-pool</h1>
      {error !== undefined && <p role="alert">{error}</p>}
      <form onSubmit={(event) => void signIn(event)}>
        <label for="api-key">API key</label>
        <input
          id="api-key"
          ref={field}
          type="password"
          autocomplete="current-password"
          required
          aria-describedby="api-key-help"
        />
        <p id="api-key-help" class="quiet">
          The key of a project shows this project only. On the service's own machine,{' '}
          <code>npx playwright-pool dashboard</code> signs in without a key.
        </p>
        <button type="submit" class="primary" disabled={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
