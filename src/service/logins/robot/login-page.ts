import { setTimeout as sleep } from 'node:timers/promises';
import type { CdpEvent } from '../../chromium/cdp/cdp-protocol.ts';
import type { CdpConnection } from '../../chromium/cdp/cdp-connection.ts';
import { Acting } from './acting.ts';
import { mayVisit } from './allowed-domains.ts';
import { asksToLogIn, discover, type Discovery, type Target } from '../reading/discovery.ts';
import { findLogin } from './find-login.ts';
import {
  LoginError,
  type LoginInput,
  type LoginPageOptions,
  type LoginState,
  type LoginForm,
} from '../reading/login-form.ts';
import { emptyMs, lateStateOf, stableMs, stateOf, type LoginCourse } from './login-state.ts';
import type { Message, ObservedFrame } from '../reading/observation.ts';
import { SiteCookies } from './site-cookies.ts';
import { WatchedPage } from './watched-page.ts';

const pollMs = 100;
/** The longest wait until a page has loaded and no longer changes, in ms. */
const settleMs = 20_000;
/** How long to wait for a change after a submission, in ms. After that, the unchanged page counts as the answer. */
const unchangedMs = 2500;
/** A page that has loaded nothing for this time, in ms, will not change any more. */
const lostMs = 8000;
/** How long to wait for disabled fields, in ms. Some stay disabled until others are filled in. */
const disabledMs = 4000;

/**
 * The login robot: opens a site's login page in a session's browser, reads its questions and submits answers. A refused
 * or failed login throws `LoginError`. Dispose the page then, and after an abort.
 */
export class LoginPage {
  readonly #session: { readonly cdp: CdpConnection };
  readonly #options: LoginPageOptions;
  /** The page, then the popups that it opened. Actions go to the last one. */
  readonly #pages: WatchedPage[] = [];
  readonly #filled: string[] = [];
  readonly #cookies: SiteCookies;
  #stopListening = () => {};
  /** The URL of the login page that was opened or found. */
  #loginUrl = '';
  #hasSubmitted = false;
  #shown = '';
  #messages: Message[] | undefined;

  private constructor(session: { readonly cdp: CdpConnection }, options: LoginPageOptions) {
    this.#session = session;
    this.#options = options;
    this.#cookies = new SiteCookies(session.cdp, this.#domains, options.signal);
  }

  /**
   * Opens the login URL in a new page, or looks for the login from the domain's front page. Takes at most 60 s. Throws
   * `LoginError`: `network_error` if the site is unreachable, `login_form_not_found`, `domain_not_allowed`,
   * `captcha_blocked`, `browser_error`; and the signal's reason.
   */
  static async open(session: { readonly cdp: CdpConnection }, options: LoginPageOptions): Promise<LoginPage> {
    const page = new LoginPage(session, options);
    try {
      await page.#open();
      return page;
    } catch (error) {
      await page[Symbol.asyncDispose]();
      throw page.#failure(error);
    }
  }

  /**
   * Returns the state of the login: `logged_in` right after `open` if the profile is logged in already. Waits up to 20
   * s until the page has settled.
   */
  async state(): Promise<LoginState> {
    return await this.#orFailure(() => this.#settle());
  }

  /**
   * Fills the fields as a person would and submits them, or clicks the choice. Resolves with the next state, in at most
   * 60 s. The site's refusal is a state that `asks` again, with `website_error`. Throws `LoginError`:
   * `element_not_found` if the page no longer has a field or choice of the input, `domain_not_allowed`,
   * `network_error`, `website_error` (an error page without a form), `browser_error`; and the signal's reason. Don't
   * call it again before it has ended.
   */
  async submit(input: LoginInput): Promise<LoginState> {
    return await this.#orFailure(async () => {
      const frames = await this.#observed();
      const found = discover(frames, this.#messages);
      const { values = {}, choice_id: choiceId, origin } = input;
      for (const id of Object.keys(values)) if (!found.boxes.has(id)) throw gone(`the field ${id}`);
      const choice = choiceId === undefined ? undefined : found.choices.get(choiceId);
      if (choiceId !== undefined && !choice) throw gone(`the choice ${choiceId}`);
      const targets = Object.keys(values).map((id) => found.boxes.get(id)!);
      for (const target of targets.flat()) {
        this.#refuseForeign(target.url);
        if (origin !== undefined && target.origin !== origin) throw gone(`the form of ${origin}`);
      }
      const before = {
        documents: this.#page.documents,
        pages: this.#pages.length,
        shown: shownIn(found),
        at: performance.now(),
      };
      this.#messages = frames.flatMap(({ messages }) => messages);
      this.#page.dialogs.length = 0;
      this.#filled.push(...Object.values(values));
      this.#hasSubmitted = true;
      const acting = new Acting(this.#page, this.#options.signal);
      for (const [id, boxes] of found.boxes) if (values[id] !== undefined) await acting.fill(boxes, values[id]);
      if (choice && !(await acting.click(choice))) throw gone(`an enabled button for the choice ${choiceId}`);
      if (choice?.isRadio === false) return await this.#settle(before);
      // The page may have replaced the button while the fields were filled.
      const { submit } = discover(await this.#observed(), this.#messages);
      const isClicked = submit !== undefined && (await acting.click(submit));
      if (!isClicked && this.#page.documents === before.documents) await acting.pressEnter();
      return await this.#settle({ ...before, at: performance.now() });
    });
  }

  /**
   * Resolves when the page no longer shows the last returned state, for instance because a person approved on the phone
   * or logged in through the live view. Waits until a signal aborts. Must not run at the same time as `submit`: abort
   * it and wait for its end first.
   */
  async changed(signal: AbortSignal): Promise<LoginState> {
    const either = AbortSignal.any([signal, this.#options.signal]);
    const isOther = (frames: ObservedFrame[]) => shownIn(discover(frames, this.#messages)) !== this.#shown || undefined;
    return await this.#orFailure(async () => {
      await this.#until(Infinity, isOther, { signal: either, pauseMs: pollMs * 3 });
      this.#hasSubmitted = true;
      return await this.#settle();
    }, either);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening();
    await Promise.all(this.#pages.splice(0).map((page) => page.close()));
  }

  get #page(): WatchedPage {
    const page = this.#pages.at(-1);
    if (!page) throw new LoginError('browser_error', 'the login page was closed; start the login again');
    return page;
  }

  async #open(): Promise<void> {
    const { loginUrl, postLoginUrl, signal } = this.#options;
    const { cdp } = this.#session;
    const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' }, { signal });
    this.#stopListening = cdp.onEvent((event) => this.#follow(event));
    this.#pages.push(await this.#watch(targetId));
    await this.#cookies.remember();
    if (postLoginUrl !== undefined) {
      await this.#page.navigate(postLoginUrl);
      this.#loginUrl = loginUrl ?? postLoginUrl;
      if (await this.#isHome()) return;
    }
    if (loginUrl !== undefined) await this.#page.navigate(loginUrl);
    else await this.#find();
    this.#loginUrl = loginUrl ?? (await this.#observed())[0]!.url;
  }

  #watch(targetId: string): Promise<WatchedPage> {
    const { signal } = this.#options;
    return WatchedPage.attach({
      cdp: this.#session.cdp,
      targetId,
      mayVisit: (url) => mayVisit(url, this.#domains),
      signal,
    });
  }

  get #domains(): string[] {
    const { domain, allowedDomains = [], loginUrl } = this.#options;
    return [
      domain,
      ...allowedDomains,
      ...(loginUrl !== undefined && URL.canParse(loginUrl) ? [new URL(loginUrl).host] : []),
    ];
  }

  async #find(): Promise<void> {
    const visitor = {
      navigate: (url: string) => this.#page.navigate(url),
      click: (target: Target) => new Acting(this.#page, this.#options.signal).click(target),
      look: async () => ({ frames: await this.#quiet(), status: this.#page.status }),
    };
    await findLogin(visitor, this.#options.domain, this.#domains);
  }

  /** Whether the page is one that only logged-in users see. */
  async #isHome(): Promise<boolean> {
    return await this.#until(settleMs / 2, async (frames, isLate) => {
      const found = this.#read(frames);
      const state = await stateOf(found, frames[0]!, this.#page.quietMs, this.#course);
      if (state) return state.kind === 'logged_in';
      return isLate || (found.leadsToLogin && this.#page.quietMs > emptyMs) ? false : undefined;
    });
  }

  /** Waits until the page has questions or is quiet, and returns its frames. */
  async #quiet(): Promise<ObservedFrame[]> {
    return await this.#until(settleMs / 2, (frames, isLate) => {
      const isQuiet = frames[0]!.ready === 'complete' && this.#page.quietMs > emptyMs / 2;
      return isQuiet || isLate || (asksToLogIn(frames) && this.#page.quietMs > stableMs) ? frames : undefined;
    });
  }

  /** Waits for the page's next state. `before` is the state before a submission. */
  async #settle(before?: { documents: number; pages: number; shown: string; at: number }): Promise<LoginState> {
    let shown = '';
    let since = performance.now();
    return await this.#until(settleMs, async (frames, isLate) => {
      const now = performance.now();
      const found = this.#read(frames);
      if (shownIn(found) !== shown) [shown, since] = [shownIn(found), now];
      const isReplaced =
        before === undefined || this.#page.documents !== before.documents || this.#pages.length !== before.pages;
      const isNew =
        isReplaced || shown !== before.shown || this.#page.dialogs.length > 0 || now - before.at > unchangedMs;
      const steady = Math.min(now - since, this.#page.quietMs);
      const isLoaded = frames[0]!.ready !== 'loading';
      const isUsable = !found.isWaiting || now - since > disabledMs;
      if (isLoaded && isNew && isUsable && steady > stableMs) {
        const state = await stateOf(found, frames[0]!, steady, this.#course);
        if (state) return this.#remember(state, shown, frames);
      }
      const isLost = isLoaded && steady > (this.#page.status >= 500 ? emptyMs : lostMs);
      if (!isLate && !isLost) return undefined;
      return this.#remember(await lateStateOf(found, frames[0]!, this.#course), shown, frames);
    });
  }

  async #observed(): Promise<ObservedFrame[]> {
    return await this.#until(settleMs, (frames) => frames);
  }

  /**
   * Looks at the page until `read` has a result. `isLate` is true after `waitMs`. Throws `network_error` if the page
   * has no frames by then.
   */
  async #until<T>(
    waitMs: number,
    read: (frames: ObservedFrame[], isLate: boolean) => Promise<T | undefined> | T | undefined,
    { signal = this.#options.signal, pauseMs = pollMs } = {},
  ): Promise<T> {
    const began = performance.now();
    for (;;) {
      const frames = await this.#page.observe();
      const passedMs = performance.now() - began;
      const result = frames.length > 0 ? await read(frames, passedMs > waitMs) : undefined;
      if (result !== undefined) return result;
      if (frames.length === 0 && passedMs > Math.max(waitMs, settleMs)) throw notLoaded();
      await sleep(pauseMs, undefined, { signal });
    }
  }

  #read(frames: ObservedFrame[]): Discovery {
    const found = discover(frames, this.#messages);
    const dialog = this.#page.dialogs.at(-1);
    if (dialog !== undefined && dialog !== '') found.form.website_error = dialog.slice(0, 500);
    return found;
  }

  get #course(): LoginCourse {
    const { domain, postLoginUrl } = this.#options;
    return {
      domain,
      domains: this.#domains,
      loginUrl: this.#loginUrl,
      postLoginUrl,
      hasSubmitted: this.#hasSubmitted,
      status: this.#page.status,
      cookies: this.#cookies,
      redacted: (text) => this.#redacted(text),
    };
  }

  #remember(state: LoginState, shown: string, frames: ObservedFrame[]): LoginState {
    this.#shown = shown;
    this.#messages ??= frames.flatMap(({ messages }) => messages);
    return state.kind === 'logged_in' ? state : { ...state, form: this.#redactedForm(state.form) };
  }

  /** Throws if the frame is on a foreign domain, because filled-in values go there. */
  #refuseForeign(url: string): void {
    if (mayVisit(url, this.#domains)) return;
    const message = `the login form is in a frame of ${new URL(url).host}, which is not among the connection's domains; add it to allowed_domains if it belongs to the login`;
    throw new LoginError('domain_not_allowed', message);
  }

  /** Logins with a provider often happen in a popup. */
  #follow(event: CdpEvent): void {
    if (event.method === 'Target.targetCreated') {
      const { targetId, type, openerId } = event.params.targetInfo;
      if (type !== 'page' || !this.#pages.some((page) => page.targetId === openerId)) return;
      this.#watch(targetId).then(
        (page) => this.#pages.push(page),
        () => {},
      );
    } else if (event.method === 'Target.targetDestroyed') {
      const index = this.#pages.findIndex(({ targetId }) => targetId === event.params.targetId);
      if (index >= 0) void this.#pages.splice(index, 1)[0]?.close();
    }
  }

  async #orFailure<T>(act: () => Promise<T>, signal = this.#options.signal): Promise<T> {
    try {
      return await act();
    } catch (error) {
      throw this.#failure(error, signal);
    }
  }

  /** Removes filled-in values from a text, because pages repeat them: "There is no account for alice". */
  #redacted(text: string): string {
    const values = this.#filled.filter(({ length }) => length >= shortest);
    const longestFirst = values.flatMap((value) => [value, encodeURIComponent(value)]).sort(byLength);
    return longestFirst.reduce((rest, value) => rest.replaceAll(value, '…'), text);
  }

  #redactedForm(form: LoginForm): LoginForm {
    const redact = <T extends object>(texts: T, names: (keyof T)[]): T => {
      const copy = { ...texts };
      for (const name of names)
        if (typeof copy[name] === 'string') copy[name] = this.#redacted(copy[name]) as T[typeof name];
      return copy;
    };
    return {
      ...redact(form, ['url', 'website_error', 'external_action_message']),
      fields: form.fields.map((field) => redact(field, ['label', 'hint', 'placeholder'])),
      choices: form.choices.map((choice) => redact(choice, ['label', 'description', 'target'])),
    };
  }

  /** Returns the signal's reason and `LoginError`s unchanged. Converts all other errors to `browser_error`. */
  #failure(error: unknown, signal = this.#options.signal): unknown {
    if (signal.aborted) return signal.reason;
    if (error instanceof LoginError) return error;
    const reason = error instanceof Error ? error.message : 'for an unknown reason';
    return new LoginError('browser_error', `the browser could not continue the login: ${this.#redacted(reason)}`, {
      cause: error,
    });
  }
}

function notLoaded(): LoginError {
  return new LoginError('network_error', `the page did not load within ${settleMs / 1000} s; is the site up?`);
}

function gone(what: string): LoginError {
  return new LoginError(
    'element_not_found',
    `the login page doesn't have ${what}, or no longer; ask for its state and submit again`,
  );
}

/** A text that differs for different states of a page. */
function shownIn({ form, canLogOut }: Discovery): string {
  const { url, fields, choices, website_error: error, external_action_message: action } = form;
  const asked = [fields, choices].map((all) => all.map(({ id, label }) => [id, label]));
  return JSON.stringify([url.replace(/[?#].*$/, ''), ...asked, error, action, canLogOut]);
}

/** Shorter values occur in too many words. */
const shortest = 3;

function byLength(a: string, b: string): number {
  return b.length - a.length;
}
