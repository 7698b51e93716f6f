import { setMaxListeners } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { CdpConnection } from '../browsers/cdp-connection.ts';
import type { CdpEvent, Commands, FrameTree } from '../browsers/cdp-protocol.ts';
import { LoginError } from './login-form.ts';
import type { Observation, ObservedFrame } from './observation.ts';
import { PageLoads } from './page-loads.ts';
import { lookIntoClosedRoots, type FrameWorld } from './shadow-roots.ts';

/** The page to watch, by its target, and where it may go. The signal ends whatever it does. */
export type Watched = { cdp: CdpConnection; targetId: string; mayVisit: (url: string) => boolean; signal: AbortSignal };

/**
 * A page, with its frames, that is looked at and acted on while its main frame stays in places that may be visited: a request for another is
 * stopped before it is sent, with all that it would have carried.
 */
export class WatchedPage {
  readonly targetId: string;
  /** The CDP session of the page itself; frames of other sites have their own. */
  readonly sessionId: string;
  readonly cdp: CdpConnection;
  /** How many documents were loaded into the main frame. */
  documents = 0;
  /** The HTTP status of the last of them. */
  status = 0;
  /** Texts of dialogs that it showed and that were accepted, since this was emptied. */
  readonly dialogs: string[] = [];
  readonly #script: string;
  readonly #signal: AbortSignal;
  readonly #mayVisit: (url: string) => boolean;
  readonly #parents = new Map<string, string>();
  readonly #loads: PageLoads;
  readonly #worlds = new Map<string, FrameWorld>();
  #refusedUrl: string | undefined;
  #hasCrashed = false;
  readonly #closing = new AbortController();
  #stopListening = () => {};

  private constructor({ cdp, targetId, mayVisit, signal }: Watched, sessionId: string, script: string) {
    this.cdp = cdp;
    this.targetId = targetId;
    this.sessionId = sessionId;
    this.#script = script;
    this.#mayVisit = mayVisit;
    this.#signal = signal;
    this.#loads = new PageLoads(targetId);
    // All frames are asked at once, and each question and each action listens.
    setMaxListeners(0, signal, this.#closing.signal);
  }

  /** Watches a target that exists already. */
  static async attach(watched: Watched): Promise<WatchedPage> {
    const { cdp, targetId, signal } = watched;
    const parts = pageScripts.map((name) => readFile(new URL(`page/${name}`, import.meta.url), 'utf8'));
    const script = (await Promise.all(parts)).join('\n');
    const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true }, { signal });
    const page = new WatchedPage(watched, sessionId, script);
    page.#stopListening = cdp.onEvent((event) => page.#follow(event));
    await Promise.all([
      page.#watchSession(sessionId),
      page.send('Fetch.enable', { patterns: [{ resourceType: 'Document', requestStage: 'Request' }] }),
      page.send('Emulation.setFocusEmulationEnabled', { enabled: true }),
    ]);
    return page;
  }

  /** For how many ms nothing was loaded; 0 while something is. */
  get quietMs(): number {
    return this.#loads.quietMs;
  }

  async send<M extends keyof Commands>(
    method: M,
    params: Commands[M]['params'],
    sessionId = this.sessionId,
    timeoutMs?: number,
  ): Promise<Commands[M]['result']> {
    return await this.cdp.send(method, params, { sessionId, signal: this.#signal, timeoutMs });
  }

  /** Throws `network_error` when the page can't be had within 30 s, and as `throwIfRefused`. */
  async navigate(url: string): Promise<void> {
    const { errorText } = await this.send('Page.navigate', { url }, this.sessionId, 30_000).catch((error: unknown) => {
      this.#signal.throwIfAborted();
      throw new LoginError('network_error', `${hostOf(url)} did not answer within 30 s; is the site up?`, { cause: error });
    });
    this.throwIfRefused();
    // What is loaded as a file stays where it was.
    if (errorText === undefined || errorText === 'net::ERR_ABORTED') return;
    throw new LoginError('network_error', `${hostOf(url)} could not be reached (${errorText}); is the site up, and its address right?`);
  }

  /** Throws `domain_not_allowed` when the page tried to leave the places that may be visited, and `browser_error` when it crashed. */
  throwIfRefused(): void {
    if (this.#hasCrashed) throw new LoginError('browser_error', 'the page of the login crashed; start the login again');
    const url = this.#refusedUrl;
    if (url === undefined) return;
    const host = hostOf(url);
    const message = `the login led to ${host}, which is not among the connection's domains; add it to allowed_domains if it belongs to the login`;
    throw new LoginError('domain_not_allowed', message);
  }

  /** What all its frames show now, the main frame first; nothing while that is being replaced. */
  async observe(): Promise<ObservedFrame[]> {
    this.throwIfRefused();
    const trees = await Promise.all([this.sessionId, ...this.#parents.keys()].map((sessionId) => this.#frames(sessionId)));
    const observed = await Promise.all(trees.flat().map(({ frameId, sessionId }) => this.#observeFrame(frameId, sessionId)));
    const frames = observed.filter((frame) => frame !== undefined);
    // A popup is there before it is watched.
    if (frames[0]?.isMain && !this.#mayVisit(frames[0].url)) this.#refusedUrl = frames[0].url;
    this.throwIfRefused();
    return frames[0]?.isMain ? frames : [];
  }

  /** The element with this number in the observation of a frame. Throws `element_not_found` when that is gone. */
  async element(frameId: string, number: number): Promise<{ objectId: string; sessionId: string }> {
    const world = this.#worlds.get(frameId);
    const expression = `globalThis.loginElements?.[${number}]`;
    if (world !== undefined) {
      const { result } = await this.send('Runtime.evaluate', { expression, contextId: world.contextId }, world.sessionId);
      if (result.objectId !== undefined) return { objectId: result.objectId, sessionId: world.sessionId };
    }
    throw new LoginError('element_not_found', 'the page was replaced while it was filled in; ask for its state and submit again');
  }

  /** The session in which the frame of a CDP session is embedded; `undefined` for the page's own. */
  parentOf(sessionId: string): string | undefined {
    return this.#parents.get(sessionId);
  }

  /** The frame that is the root of a CDP session. */
  async rootFrame(sessionId: string): Promise<string> {
    const { frameTree } = await this.send('Page.getFrameTree', {}, sessionId);
    return frameTree.frame.id;
  }

  /** Aborts when it is no longer watched. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Stops watching; resolves in any case. */
  async close(): Promise<void> {
    this.#stopListening();
    this.#closing.abort();
    await this.cdp.send('Target.closeTarget', { targetId: this.targetId }, { timeoutMs: 2000 }).catch(() => {});
  }

  async #watchSession(sessionId: string): Promise<void> {
    await Promise.all([
      this.send('Page.enable', {}, sessionId),
      this.send('Network.enable', {}, sessionId),
      this.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: true }, sessionId),
    ]);
  }

  async #frames(sessionId: string): Promise<{ frameId: string; sessionId: string }[]> {
    const tree = await this.#ifThere(this.send('Page.getFrameTree', {}, sessionId, 3000));
    return tree ? idsOf(tree.frameTree).map((frameId) => ({ frameId, sessionId })) : [];
  }

  async #observeFrame(frameId: string, sessionId: string): Promise<ObservedFrame | undefined> {
    const isMain = sessionId === this.sessionId && frameId === this.targetId;
    const world = await this.#ifThere(this.#worldOf(frameId, sessionId));
    if (!world) return undefined;
    const observation = await this.#ifThere(this.#evaluate(world));
    if (!observation) {
      this.#worlds.delete(frameId);
      return undefined;
    }
    if (observation.hasUnexaminedHosts && (await this.#ifThere(lookIntoClosedRoots(this.cdp, world, this.#signal)))) {
      return { ...((await this.#ifThere(this.#evaluate(world))) ?? observation), frameId, isMain };
    }
    return { ...observation, frameId, isMain };
  }

  async #worldOf(frameId: string, sessionId: string): Promise<FrameWorld> {
    const known = this.#worlds.get(frameId);
    if (known?.sessionId === sessionId) return known;
    const { executionContextId } = await this.send('Page.createIsolatedWorld', { frameId, worldName }, sessionId, 3000);
    const world = { sessionId, contextId: executionContextId };
    this.#worlds.set(frameId, world);
    return world;
  }

  async #evaluate({ sessionId, contextId }: FrameWorld): Promise<Observation | undefined> {
    const script = { expression: this.#script, contextId, returnByValue: true };
    const { result } = await this.send('Runtime.evaluate', script, sessionId, 3000);
    return result.value as Observation | undefined;
  }

  /** Frames come and go, and what is asked of one in between fails. */
  async #ifThere<T>(answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer;
    } catch (error) {
      this.#signal.throwIfAborted();
      if (error instanceof LoginError) throw error;
      return undefined;
    }
  }

  #follow(event: CdpEvent): void {
    if (event.method === 'Target.targetCrashed' && event.params.targetId === this.targetId) this.#hasCrashed = true;
    if (!('sessionId' in event) || event.sessionId === undefined) return;
    const { sessionId } = event;
    if (sessionId !== this.sessionId && !this.#parents.has(sessionId)) return;
    this.#loads.follow(event);
    switch (event.method) {
      case 'Target.attachedToTarget':
        if (event.params.targetInfo.type !== 'iframe') return;
        this.#parents.set(event.params.sessionId, sessionId);
        this.#watchSession(event.params.sessionId).catch(() => {});
        return;
      case 'Target.detachedFromTarget':
        this.#parents.delete(event.params.sessionId);
        return;
      case 'Fetch.requestPaused':
        return this.#decide(event.params);
      case 'Page.javascriptDialogOpening':
        this.dialogs.push(event.params.message);
        this.send('Page.handleJavaScriptDialog', { accept: true }, sessionId).catch(() => {});
        return;
      case 'Page.frameNavigated':
        this.#worlds.delete(event.params.frame.id);
        if (event.params.frame.id === this.targetId) this.documents++;
        return;
      case 'Network.responseReceived':
        if (event.params.type === 'Document' && event.params.frameId === this.targetId) this.status = event.params.response.status;
        return;
      default:
    }
  }

  #decide({ requestId, frameId, request }: { requestId: string; frameId: string; request: { url: string } }): void {
    const isRefused = frameId === this.targetId && !this.#mayVisit(request.url);
    if (isRefused) this.#refusedUrl = request.url;
    const answer = isRefused
      ? this.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' })
      : this.send('Fetch.continueRequest', { requestId });
    answer.catch(() => {});
  }
}

const worldName = 'login';

/** In the order in which they build on each other; the value of the last is the observation. */
const pageScripts = ['shapes.js', 'texts.js', 'selectors.js', 'observe.js'];

function idsOf({ frame, childFrames = [] }: FrameTree): string[] {
  return [frame.id, ...childFrames.flatMap(idsOf)];
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'the address';
}
