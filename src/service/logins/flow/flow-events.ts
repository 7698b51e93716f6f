import type { AuthConnection } from '../../../contract/auth-connections.ts';
import type { AuthConnectionEvent } from '../../../contract/login-flow.ts';
import type { Clock } from '../../process/clock.ts';
import { linkToken } from '../../process/links.ts';
import { liveViewUrl } from '../../sessions/browser-answer.ts';
import type { FlowState, LoginFlow } from './flow.ts';
import { promptFields } from './prompt.ts';

/** The data for links in answers: the service's address for the caller, and the API key. Links end with their key. */
export type Links = { origin: string; apiKeyId: string; clock: Clock };

const hostedLifeMs = 24 * 3600 * 1000;

/** Turns the states of a login into the events of its event stream. */
export async function* flowEvents(
  states: AsyncIterable<{ state: FlowState; flow: LoginFlow | undefined } | undefined>,
  links: Links,
): AsyncGenerator<AuthConnectionEvent> {
  for await (const followed of states) {
    const timestamp = new Date(links.clock.now()).toISOString();
    if (!followed) {
      yield { event: 'sse_heartbeat', timestamp };
      continue;
    }
    const { state, flow } = followed;
    const told = Object.entries(flowFields(state, flow, links)).filter(([, value]) => value !== null);
    yield {
      event: 'managed_auth_state',
      timestamp,
      flow_status: state.status,
      flow_step: state.step,
      ...Object.fromEntries(told),
      post_login_url: state.postLoginUrl,
    };
  }
}

/** The fields that describe a login, in answers about its connection and in events. Missing values are null. */
export function flowFields(state: FlowState | undefined, flow: LoginFlow | undefined, links: Links) {
  const running = state?.status === 'IN_PROGRESS' ? flow : undefined;
  return {
    flow_status: state?.status ?? null,
    flow_step: state?.step ?? null,
    flow_type: state?.type ?? null,
    fields: null,
    choices: null,
    discovered_fields: null,
    mfa_options: null,
    sign_in_options: null,
    pending_sso_buttons: null,
    ...(state?.prompt && promptFields(state.prompt)),
    external_action_message: state?.externalActionMessage ?? null,
    website_error: state?.websiteError ?? null,
    error_message: state?.errorMessage ?? null,
    error_code: state?.errorCode ?? null,
    hosted_url: running ? hostedUrl(running.token, links) : null,
    live_view_url: running?.session ? liveViewUrl(running.session.browser, links) : null,
  } satisfies Partial<AuthConnection>;
}

/** The URL of the page on which a person logs in. It works for 24 hours, or until its API key is deleted. */
export function hostedUrl(secret: string, { origin, apiKeyId, clock }: Links): string {
  const token = linkToken(secret, { apiKeyId, now: clock.now(), lifeMs: hostedLifeMs });
  return `${origin}/browser/login?jwt=${token}`;
}
