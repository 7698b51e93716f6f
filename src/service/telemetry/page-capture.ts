import type { TelemetryCategory } from '../../contract/telemetry.ts';
import type { CdpConnection } from '../chromium/cdp/cdp-connection.ts';
import type { CdpEvent, Command, Params, TargetInfo } from '../chromium/cdp/cdp-protocol.ts';
import { consoleEvent } from './console-events.ts';
import { bindingName, interactionScript, interactionEvent, worldName } from './interaction.ts';
import { NetworkCapture } from './network-capture.ts';
import type { Capture } from './telemetry-log.ts';

/** How long a page may be without a layout shift until it counts as settled, in ms. */
const settledMs = 1000;
/** The largest screenshot that is kept, in base64 characters. */
const largestPicture = 2 * 1024 * 1024;

/** The capture of a browser. */
export type BrowserOptions = {
  categories: readonly TelemetryCategory[];
  emit: (event: Capture) => void;
  /** Whether no client is connected that could answer a dialog. */
  isAlone: () => boolean;
};

type PageOptions = BrowserOptions & { cdp: CdpConnection; sessionId: string; targetInfo: TargetInfo };

/** Turns the CDP events of one page, or of a frame in another process, into telemetry. */
export class PageCapture {
  readonly #options: PageOptions;
  readonly #network: NetworkCapture;
  readonly #startedAt = Date.now();
  #url: string;
  #frameId: string;
  #loaderId: string | undefined;
  #navigations = 0;
  #settling: NodeJS.Timeout | undefined;

  constructor(options: PageOptions) {
    this.#options = options;
    this.#url = options.targetInfo.url;
    this.#frameId = options.targetInfo.targetId;
    this.#network = new NetworkCapture({
      emit: (type, cause, data) => this.#tell('network', type, cause, data),
      body: (requestId) => this.#body(requestId),
    });
  }

  async start(): Promise<void> {
    const steps = [
      this.#send('Page.enable', {}),
      ...(this.#has('console') || this.#has('interaction') ? [this.#send('Runtime.enable', {})] : []),
      ...(this.#has('network')
        ? [this.#send('Network.enable', { maxTotalBufferSize: 4 * 1024 * 1024, maxResourceBufferSize: 256 * 1024 })]
        : []),
      ...(this.#has('page')
        ? [this.#send('PerformanceTimeline.enable', { eventTypes: ['largest-contentful-paint', 'layout-shift'] })]
        : []),
      ...(this.#has('interaction')
        ? [
            this.#send('Runtime.addBinding', { name: bindingName, executionContextName: worldName }),
            this.#send('Page.addScriptToEvaluateOnNewDocument', {
              source: interactionScript,
              worldName,
              runImmediately: true,
            }),
          ]
        : []),
    ];
    await Promise.all(steps);
  }

  opened(): void {
    const { targetId, url, title, openerId } = this.#options.targetInfo;
    const data = { target_id: targetId, target_type: 'page', url, title, opener_id: openerId };
    if (this.#has('page')) this.#emitRaw('page', 'page_tab_opened', 'Target.attachedToTarget', data);
  }

  follow(event: CdpEvent): void {
    switch (event.method) {
      case 'Runtime.consoleAPICalled':
      case 'Runtime.exceptionThrown': {
        // After `Runtime.enable` Chromium repeats the page's earlier messages.
        if (event.params.timestamp < this.#startedAt) return;
        const { type, data } = consoleEvent(event);
        return this.#tell('console', type, event.method, data);
      }
      case 'Runtime.bindingCalled': {
        const told = interactionEvent(event.params);
        if (told) this.#tell('interaction', told.type, event.method, told.data);
        return;
      }
      case 'Page.frameNavigated':
        return this.#navigated(event.params.frame);
      case 'Page.domContentEventFired':
        return this.#tell('page', 'page_dom_content_loaded', event.method, { cdp_timestamp: event.params.timestamp });
      case 'Page.loadEventFired':
        this.#tell('page', 'page_load', event.method, { cdp_timestamp: event.params.timestamp });
        this.#settle();
        if (this.#has('screenshot')) void this.#screenshot();
        return;
      case 'Page.javascriptDialogOpening':
        return this.#dismiss(event.params.hasBrowserHandler);
      case 'PerformanceTimeline.timelineEventAdded':
        return this.#measured(event.params.event);
      default:
        if (this.#has('network')) this.#network.follow(event);
    }
  }

  end(): void {
    clearTimeout(this.#settling);
    this.#network.end();
  }

  /** Without this capture headless Chromium would dismiss dialogs itself, so dismiss them unless a client can answer. */
  #dismiss(hasBrowserHandler: boolean): void {
    if (!hasBrowserHandler && this.#options.isAlone())
      void this.#send('Page.handleJavaScriptDialog', { accept: false });
  }

  #navigated(frame: { id: string; parentId?: string | undefined; loaderId: string; url: string }): void {
    const isMain = frame.parentId === undefined;
    if (isMain) {
      this.#url = frame.url;
      this.#frameId = frame.id;
      this.#loaderId = frame.loaderId;
      this.#navigations += 1;
      clearTimeout(this.#settling);
    }
    const data = {
      url: frame.url,
      frame_id: frame.id,
      parent_frame_id: frame.parentId,
      loader_id: frame.loaderId,
    };
    this.#tell('page', 'page_navigation', 'Page.frameNavigated', data);
  }

  #measured(event: TimelineEvent): void {
    const { lcpDetails: lcp, layoutShiftDetails: shift } = event;
    const timed = { source_frame_id: event.frameId, time: event.time, duration: event.duration ?? 0 };
    const cause = 'PerformanceTimeline.timelineEventAdded';
    if (lcp) {
      const details = {
        render_time: lcp.renderTime,
        load_time: lcp.loadTime,
        size: lcp.size,
        element_id: lcp.elementId,
        url: lcp.url,
        node_id: lcp.nodeId,
      };
      this.#tell('page', 'page_lcp', cause, { ...timed, lcp_details: details });
    }
    if (shift) {
      const details = { value: shift.value, had_recent_input: shift.hadRecentInput };
      this.#tell('page', 'page_layout_shift', cause, { ...timed, layout_shift_details: details });
      if (this.#settling) this.#settle();
    }
  }

  #settle(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      this.#settling = undefined;
      this.#tell('page', 'page_layout_settled', undefined, {});
      this.#tell('page', 'page_navigation_settled', undefined, {});
    }, settledMs).unref();
  }

  async #screenshot(): Promise<void> {
    const picture = await this.#send('Page.captureScreenshot', { format: 'png' });
    if (!picture || picture.data.length > largestPicture) return;
    const source = { kind: 'cdp' as const, event: 'Page.loadEventFired' };
    const data = { png: picture.data };
    this.#options.emit({ category: 'screenshot', type: 'monitor_screenshot', source, data, isWhole: true });
  }

  async #body(requestId: string): Promise<string | undefined> {
    const found = await this.#send('Network.getResponseBody', { requestId });
    return found?.base64Encoded === false ? found.body : undefined;
  }

  #has(category: TelemetryCategory): boolean {
    return this.#options.categories.includes(category);
  }

  /** Adds the page to an event's data. */
  #tell(category: TelemetryCategory, type: string, cause: string | undefined, data: Record<string, unknown>): void {
    if (!this.#has(category)) return;
    const { sessionId, targetInfo } = this.#options;
    const context = {
      session_id: sessionId,
      target_id: targetInfo.targetId,
      target_type: targetInfo.type === 'page' ? 'page' : 'other',
      frame_id: this.#frameId,
      loader_id: this.#loaderId,
      url: this.#url,
      nav_seq: this.#navigations,
    };
    this.#emitRaw(category, type, cause, { ...context, ...data });
  }

  #emitRaw(category: TelemetryCategory, type: string, cause: string | undefined, data: Record<string, unknown>): void {
    this.#options.emit({ category, type, source: { kind: 'cdp', event: cause }, data });
  }

  /** Resolves to `undefined` if the page doesn't answer any more, or doesn't know the command. */
  async #send<C extends Command>(method: C, params: Params<C>) {
    const { cdp, sessionId } = this.#options;
    return await cdp.send(method, params, { sessionId }).catch(() => undefined);
  }
}

type TimelineEvent = Extract<CdpEvent, { method: 'PerformanceTimeline.timelineEventAdded' }>['params']['event'];
