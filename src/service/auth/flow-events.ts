import type { AuthConnectionEvent } from '../../contract/auth-connections.ts';
import type { Clock } from '../clock.ts';
import type { FlowState, LoginFlow } from './flow.ts';
import type { LoginSession } from './login-session.ts';
import { tellPrompt } from './prompt.ts';

/** The states of a login as events. `host` is how the caller reaches the service. */
export async function* flowEvents(
  states: AsyncIterable<{ state: FlowState; flow: LoginFlow | undefined } | undefined>,
  { host, clock }: { host: string; clock: Clock },
): AsyncGenerator<AuthConnectionEvent> {
  for await (const followed of states) {
    const timestamp = new Date(clock.now()).toISOString();
    if (!followed) {
      yield { event: 'sse_heartbeat', timestamp };
      continue;
    }
    const { state, flow } = followed;
    const isRunning = state.status === 'IN_PROGRESS';
    yield {
      event: 'managed_auth_state',
      timestamp,
      flow_status: state.status,
      flow_step: state.step,
      flow_type: state.type,
      ...(state.prompt && tellPrompt(state.prompt)),
      ...(state.externalActionMessage !== undefined && { external_action_message: state.externalActionMessage }),
      ...(state.websiteError !== undefined && { website_error: state.websiteError }),
      ...(state.errorMessage !== undefined && { error_message: state.errorMessage }),
      ...(state.errorCode !== undefined && { error_code: state.errorCode }),
      ...(state.postLoginUrl !== undefined && { post_login_url: state.postLoginUrl }),
      ...(isRunning && flow && { hosted_url: hostedUrl(flow.token, host) }),
      ...(isRunning && flow?.session && { live_view_url: liveViewUrl(flow.session, host) }),
    };
  }
}

/** The page on which a person logs in. */
export function hostedUrl(token: string, host: string): string {
  return `http://${host}/browser/login?jwt=${token}`;
}

/** The browser of a login, which takes mouse and keyboard. */
export function liveViewUrl({ browser }: LoginSession, host: string): string {
  return `http://${host}/browser/live?jwt=${browser.liveViewToken}`;
}
