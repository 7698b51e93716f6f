import type { CDPSession } from '@playwright/test';

// Playwright exports the types of the Chrome DevTools Protocol only as the types of these methods.
declare const session: CDPSession;

export type Command = Parameters<CDPSession['send']>[0];
export type Params<C extends Command> = NonNullable<Parameters<typeof session.send<C>>[1]>;
export type Result<C extends Command> = Awaited<ReturnType<typeof session.send<C>>>;

/** The events that the service listens to. */
type EventName =
  | 'Browser.downloadProgress'
  | 'Fetch.authRequired'
  | 'Fetch.requestPaused'
  | 'Input.dragIntercepted'
  | 'Network.loadingFailed'
  | 'Network.loadingFinished'
  | 'Network.requestWillBeSent'
  | 'Network.responseReceived'
  | 'Network.responseReceivedExtraInfo'
  | 'Page.domContentEventFired'
  | 'Page.frameDetached'
  | 'Page.frameNavigated'
  | 'Page.javascriptDialogOpening'
  | 'Page.loadEventFired'
  | 'Page.screencastFrame'
  | 'PerformanceTimeline.timelineEventAdded'
  | 'Runtime.bindingCalled'
  | 'Runtime.consoleAPICalled'
  | 'Runtime.exceptionThrown'
  | 'Target.attachedToTarget'
  | 'Target.detachedFromTarget'
  | 'Target.targetCrashed'
  | 'Target.targetCreated'
  | 'Target.targetDestroyed'
  | 'Target.targetInfoChanged';
type EventParams<E extends EventName> = Parameters<Parameters<typeof session.addListener<E>>[1]>[0];

/** `sessionId` is that of the page; events about targets may have none. */
export type CdpEvent = { [E in EventName]: { method: E; sessionId?: string; params: EventParams<E> } }[EventName];

export type Cookie = Params<'Storage.setCookies'>['cookies'][number];
export type DomNode = Result<'DOM.describeNode'>['node'];
export type DragData = EventParams<'Input.dragIntercepted'>['data'];
export type PausedRequest = EventParams<'Fetch.requestPaused'>;
export type FrameTree = Result<'Page.getFrameTree'>['frameTree'];
export type KeyEvent = Params<'Input.dispatchKeyEvent'>;
export type MouseEvent = Params<'Input.dispatchMouseEvent'>;
export type MouseButton = NonNullable<MouseEvent['button']>;
export type ScreencastFrame = EventParams<'Page.screencastFrame'>;
export type TargetInfo = EventParams<'Target.targetCreated'>['targetInfo'];
/** In CSS pixels. Its `scale` is 1 except for mobile pages, which are shown larger or smaller. */
export type VisualViewport = Result<'Page.getLayoutMetrics'>['cssVisualViewport'];
