import type { FlowStatus, FlowType, Submission } from '../../../contract/login-flow.ts';
import { OperationError } from '../../../contract/errors.ts';
import type { Clock } from '../../process/clock.ts';
import { newId, newToken } from '../../process/id.ts';
import type { FlowRecord } from '../connections-table.ts';
import { type Asking, converse, type LoggedIn, unanswered } from './converse.ts';
import { LoginError, type LoginInput, type LoginPageOptions, type LoginState } from '../reading/login-form.ts';
import type { LoginPage } from '../robot/login-page.ts';
import type { LoginSession } from './login-session.ts';
import { type Prompt, toInput } from './prompt.ts';
import type { StoredLogin } from '../stored-login.ts';

/** The state of a login, with its question to a person. */
export type FlowState = FlowRecord & {
  prompt?: Prompt | undefined;
  externalActionMessage?: string | undefined;
  postLoginUrl?: string | undefined;
};

export type FlowOptions = {
  type: FlowType;
  /** Whether a person can answer the questions that the credential doesn't. */
  isAttended: boolean;
  clock: Clock;
  page: Omit<LoginPageOptions, 'signal'>;
  stored: (signal: AbortSignal) => Promise<StoredLogin | undefined>;
  openSession: (signal: AbortSignal) => Promise<LoginSession>;
  /** Called after each change of the state. */
  onChange: (flow: LoginFlow) => void;
  /** Called once the profile is saved, before the last state. If it throws, the login fails. */
  onLoggedIn: (loggedIn: LoggedIn) => void;
};

/** The longest time of a login, and of a wait for one answer. */
const flowTimeoutMs = 20 * 60_000;
const inputTimeoutMs = 10 * 60_000;

const timeoutCodes: { [step: string]: string } = {
  AWAITING_INPUT: 'awaiting_input_timeout',
  AWAITING_EXTERNAL_ACTION: 'external_action_timeout',
};

/** The end of a login that has not succeeded. */
class FlowEnd extends Error {
  readonly status: Exclude<FlowStatus, 'IN_PROGRESS' | 'SUCCESS'>;
  readonly code: string | undefined;

  constructor(status: FlowEnd['status'], code: string | undefined, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** One attempt to log in, from its start to its end, in a browser of its own. */
export class LoginFlow {
  /** The secret that signs links to the page on which a person logs in. */
  readonly token: string;
  /** Resolves when the login and its browser have ended. */
  readonly done: Promise<void>;
  /** Whether the site has asked for a login. */
  wasAsked: boolean;
  readonly #options: FlowOptions;
  readonly #end = new AbortController();
  readonly #cancelTimeout: () => void;
  #state: FlowState;
  #session: LoginSession | undefined;
  #browser: { sessionId: string; replayId: string | undefined } | undefined;
  #answer: ((input: LoginInput) => void) | undefined;

  constructor(options: FlowOptions) {
    const { clock, type } = options;
    const id = newId();
    const now = clock.now();
    this.#options = options;
    this.token = newToken(id);
    // Without a person, a login starts only after a check found that the site asks for one.
    this.wasAsked = !options.isAttended;
    this.#state = {
      id,
      type,
      status: 'IN_PROGRESS',
      step: 'DISCOVERING',
      startedAt: now,
      expiresAt: now + flowTimeoutMs,
    };
    this.#cancelTimeout = clock.after(flowTimeoutMs, () => this.#expire());
    this.done = this.#run();
  }

  get state(): FlowState {
    return this.#state;
  }

  get session(): LoginSession | undefined {
    return this.#session;
  }

  /** The ids of its browser session and replay. */
  get browser(): { sessionId: string; replayId: string | undefined } | undefined {
    return this.#browser;
  }

  get isRunning(): boolean {
    // The clock may have been set forward.
    if (this.#state.status === 'IN_PROGRESS' && this.#options.clock.now() >= this.#state.expiresAt) this.#expire();
    return this.#state.status === 'IN_PROGRESS';
  }

  /**
   * Answers the login's questions. Throws `no_active_flow` after its end, and `not_asked` if the answer doesn't fit.
   */
  submit(submission: Submission): void {
    if (!this.isRunning) throw new OperationError('no_active_flow', 'the login has ended: start another one');
    const { prompt } = this.#state;
    const answer = this.#answer;
    if (!prompt || !answer)
      throw new OperationError('not_asked', 'the login asks for nothing right now: follow its events until it does');
    const input = toInput(prompt, submission);
    this.#answer = undefined;
    this.#submitting();
    answer(input);
  }

  /** Ends the login with this status, and waits for the end of its browser. */
  async end(status: 'CANCELED' | 'FAILED', message: string): Promise<void> {
    this.#finish(new FlowEnd(status, status === 'FAILED' ? 'flow_failed' : undefined, message));
    await this.done;
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    try {
      const stored = await this.#options.stored(signal);
      signal.throwIfAborted();
      await using session = await this.#options.openSession(signal);
      this.#session = session;
      this.#browser = { sessionId: session.id, replayId: session.replayId };
      this.#change({});
      const loggedIn = await this.#logIn(session, stored);
      // The login has succeeded, even if saving the profile takes long.
      this.#cancelTimeout();
      this.#submitting();
      await session.save();
      signal.throwIfAborted();
      this.#options.onLoggedIn(loggedIn);
      this.#session = undefined;
      const { url, ssoProvider } = loggedIn;
      this.#change({ status: 'SUCCESS', step: 'COMPLETED', postLoginUrl: url, ssoProvider });
    } catch (error) {
      this.#finish(error);
    } finally {
      this.#session = undefined;
      this.#cancelTimeout();
    }
  }

  async #logIn(session: LoginSession, stored: StoredLogin | undefined): Promise<LoggedIn> {
    const { signal } = this.#end;
    const { LoginPage } = await import('../robot/login-page.ts');
    await using page = await LoginPage.open(session, { ...this.#options.page, signal });
    return await converse({
      page,
      stored,
      onSubmit: () => {
        this.wasAsked = true;
        this.#submitting();
      },
      onRefused: (websiteError) => this.#change({ websiteError }),
      ask: (asking, prompt) => this.#ask(page, asking, prompt),
    });
  }

  /** Waits for an answer, or until the page changes: a person may also act on a phone or in the live view. */
  async #ask(page: LoginPage, asking: Asking, prompt: Prompt): Promise<{ input: LoginInput } | { state: LoginState }> {
    this.wasAsked = true;
    const { kind, form } = asking;
    const step = kind === 'asks' ? 'AWAITING_INPUT' : 'AWAITING_EXTERNAL_ACTION';
    if (!this.#options.isAttended) throw unanswered(asking, prompt);
    const cancelTimeout = this.#options.clock.after(inputTimeoutMs, () => this.#expire());
    const answered = new AbortController();
    const changed = page.changed(AbortSignal.any([answered.signal, this.#end.signal]));
    try {
      const submitted = new Promise<LoginInput>((resolve) => {
        this.#answer = resolve;
      });
      this.#change({
        step,
        prompt,
        websiteError: form.website_error,
        externalActionMessage: form.external_action_message,
      });
      return await Promise.race([submitted.then((input) => ({ input })), changed.then((state) => ({ state }))]);
    } finally {
      this.#answer = undefined;
      cancelTimeout();
      answered.abort();
      await changed.catch(() => {});
    }
  }

  #submitting(): void {
    if (this.#state.step === 'SUBMITTING' && this.#state.websiteError === undefined) return;
    this.#change({ step: 'SUBMITTING', prompt: undefined, websiteError: undefined, externalActionMessage: undefined });
  }

  #expire(): void {
    const { step, expiresAt } = this.#state;
    const code = timeoutCodes[step] ?? 'flow_failed';
    const timeoutMs = this.#options.clock.now() >= expiresAt ? flowTimeoutMs : inputTimeoutMs;
    this.#finish(
      new FlowEnd('EXPIRED', code, `the login did not finish within ${timeoutMs / 60_000} minutes: start another one`),
    );
  }

  #finish(error: unknown): void {
    if (this.#state.status !== 'IN_PROGRESS') return;
    const end = endOf(error);
    this.#cancelTimeout();
    this.#change({
      status: end.status,
      step: 'COMPLETED',
      prompt: undefined,
      externalActionMessage: undefined,
      errorCode: end.code,
      errorMessage: end.message,
    });
    this.#end.abort(end);
  }

  #change(changes: Partial<FlowState>): void {
    if (this.#state.status !== 'IN_PROGRESS') return;
    this.#state = { ...this.#state, ...changes };
    this.#options.onChange(this);
  }
}

function endOf(error: unknown): FlowEnd {
  if (error instanceof FlowEnd) return error;
  if (error instanceof LoginError) return new FlowEnd('FAILED', error.code, error.message);
  // An error of the browser session: the limit of sessions is reached, or another caller ended the session.
  if (error instanceof OperationError) return new FlowEnd('FAILED', 'browser_error', error.message);
  console.error('a login failed:', error);
  return new FlowEnd('FAILED', 'internal_error', 'the service failed during the login: find the reason in its log');
}
