import { setMaxListeners } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { CdpConnection } from '../../chromium/cdp/cdp-connection.ts';
import type { CdpEvent, Command, FrameTree, Params, Result } from '../../chromium/cdp/cdp-protocol.ts';
import { LoginError } from '../reading/login-form.ts';
import type { Observation, ObservedFrame } from '../reading/observation.ts';
import { PageLoads } from './page-loads.ts';
import { lookIntoClosedRoots, type FrameWorld } from './shadow-roots.ts';
import { builtFile } from '../../process/children/executables.ts';

/** A frame that has a CDP session of its own, and the session of the frame around it. */
export type FrameOwner = { parent: string; frameId: string };

/** The target of the page to watch, and the domains that it may visit. The signal aborts all actions. */
export type Watched = { cdp: CdpConnection; targetId: string; mayVisit: (url: string) => boolean; signal: AbortSignal };

/**
 * A browser page with its frames, as the login robot sees it. The main frame may only visit allowed domains: a request
 * to another one is stopped before any of its data is sent.
 */
export class WatchedPage {
  readonly targetId: string;
  /** The CDP session of the page itself; frames of other sites have their own. */
  readonly sessionId: string;
  readonly cdp: CdpConnection;
  /** The number of documents that the main frame has loaded. */
  documents = 0;
  /** The HTTP status of the last document. */
  status = 0;
  /** Texts of the dialogs that the page showed and the service accepted. The reader empties the list. */
  readonly dialogs: string[] = [];
  readonly #script: string;
  readonly #signal: AbortSignal;
  readonly #mayVisit: (url: string) => boolean;
  /** For each frame with a CDP session of its own: the place where it is embedded. */
  readonly #owners = new Map<string, FrameOwner>();
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
    // All frames are read at once, and each read adds a listener.
    setMaxListeners(0, signal, this.#closing.signal);
  }

  static async attach(watched: Watched): Promise<WatchedPage> {
    const { cdp, targetId, signal } = watched;
    const script = `${await readFile(builtFile('logins/page/observe.browser.js'), 'utf8')};login.observe()`;
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

  async send<C extends Command>(
    method: C,
    params: Params<C>,
    sessionId = this.sessionId,
    timeoutMs?: number,
  ): Promise<Result<C>> {
    return await this.cdp.send(method, params, { sessionId, signal: this.#signal, timeoutMs });
  }

  /** Throws `network_error` if the page doesn't load within 30 s, and the errors of `throwIfRefused`. */
  async navigate(url: string): Promise<void> {
    const { errorText } = await this.send('Page.navigate', { url }, this.sessionId, 30_000).catch((error: unknown) => {
      this.#signal.throwIfAborted();
      throw new LoginError('network_error', `${hostOf(url)} did not answer within 30 s; is the site up?`, {
        cause: error,
      });
    });
    this.throwIfRefused();
    // After a download the page still has its previous document.
    if (errorText === undefined || errorText === 'net::ERR_ABORTED') return;
    throw new LoginError(
      'network_error',
      `${hostOf(url)} could not be reached (${errorText}); is the site up, and its address right?`,
    );
  }

  /** Throws `domain_not_allowed` if the page tried to visit a foreign domain, and `browser_error` if it crashed. */
  throwIfRefused(): void {
    if (this.#hasCrashed) throw new LoginError('browser_error', 'the login page crashed; start the login again');
    const url = this.#refusedUrl;
    if (url === undefined) return;
    const host = hostOf(url);
    const message = `the login led to ${host}, which is not among the connection's domains; add it to allowed_domains if it belongs to the login`;
    throw new LoginError('domain_not_allowed', message);
  }

  /** The observations of all frames, the main frame first. Empty while the main frame is being replaced. */
  async observe(): Promise<ObservedFrame[]> {
    this.throwIfRefused();
    const trees = await Promise.all(
      [this.sessionId, ...this.#owners.keys()].map((sessionId) => this.#frames(sessionId)),
    );
    const observed = await Promise.all(
      trees.flat().map(({ frameId, sessionId }) => this.#observeFrame(frameId, sessionId)),
    );
    const frames = observed.filter((frame) => frame !== undefined);
    // A popup may have loaded a foreign document before the service watched it.
    if (frames[0]?.isMain && !this.#mayVisit(frames[0].url)) this.#refusedUrl = frames[0].url;
    this.throwIfRefused();
    return frames[0]?.isMain ? frames : [];
  }

  /** The element with this number in the observation of a frame. Throws `element_not_found` if the element is gone. */
  async element(frameId: string, number: number): Promise<{ objectId: string; sessionId: string }> {
    const world = this.#worlds.get(frameId);
    const expression = `globalThis.login?.numbered[${number}]`;
    if (world !== undefined) {
      const { result } = await this.send(
        'Runtime.evaluate',
        { expression, contextId: world.contextId },
        world.sessionId,
      );
      if (result.objectId !== undefined) return { objectId: result.objectId, sessionId: world.sessionId };
    }
    throw new LoginError(
      'element_not_found',
      'the site replaced the login page during the input; ask for its state and submit again',
    );
  }

  /** Where the frame of a CDP session is embedded; `undefined` for the page's own session. */
  ownerOf(sessionId: string): FrameOwner | undefined {
    return this.#owners.get(sessionId);
  }

  /** Aborts when watching ends. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Stops watching. Never rejects. */
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
    let observation = await this.#ifThere(this.#evaluate(world));
    if (observation?.hasUnexaminedHosts && (await this.#ifThere(lookIntoClosedRoots(this.cdp, world, this.#signal))))
      observation = (await this.#ifThere(this.#evaluate(world))) ?? observation;
    if (!observation) this.#worlds.delete(frameId);
    return observation && { ...observation, frameId, isMain };
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

  /** Resolves to `undefined` if the frame vanished meanwhile. */
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
    if (sessionId !== this.sessionId && !this.#owners.has(sessionId)) return;
    this.#loads.follow(event);
    switch (event.method) {
      case 'Target.attachedToTarget':
        if (event.params.targetInfo.type !== 'iframe') return;
        // The target of a frame has the frame's id.
        this.#owners.set(event.params.sessionId, { parent: sessionId, frameId: event.params.targetInfo.targetId });
        this.#watchSession(event.params.sessionId).catch(() => {});
        return;
      case 'Target.detachedFromTarget':
        this.#owners.delete(event.params.sessionId);
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
        if (event.params.type === 'Document' && event.params.frameId === this.targetId)
          this.status = event.params.response.status;
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

function idsOf({ frame, childFrames = [] }: FrameTree): string[] {
  return [frame.id, ...childFrames.flatMap(idsOf)];
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'the address';
}
