/** The commands of the Chrome DevTools Protocol that the service itself sends, with what it uses of them. */
export type Commands = {
  'Browser.close': { params: object; result: object };
  'Browser.getVersion': { params: object; result: object };
  'Browser.grantPermissions': { params: { permissions: string[]; browserContextId: string }; result: object };
  'Browser.setDownloadBehavior': { params: { behavior: 'allow'; downloadPath: string }; result: object };
  'DOM.describeNode': { params: { objectId: string; depth: number; pierce: boolean }; result: { node: DomNode } };
  'DOM.getContentQuads': { params: { objectId: string }; result: { quads: number[][] } };
  'DOM.getFrameOwner': { params: { frameId: string }; result: { backendNodeId: number } };
  'DOM.resolveNode': { params: { backendNodeId: number; executionContextId?: number }; result: { object: { objectId: string } } };
  'DOM.scrollIntoViewIfNeeded': { params: { objectId: string }; result: object };
  'Emulation.setFocusEmulationEnabled': { params: { enabled: boolean }; result: object };
  'Fetch.continueRequest': { params: { requestId: string }; result: object };
  'Fetch.enable': { params: { patterns: { resourceType: string; requestStage: string }[] }; result: object };
  'Fetch.failRequest': { params: { requestId: string; errorReason: string }; result: object };
  'Input.dispatchDragEvent': { params: DragEvent; result: object };
  'Input.dispatchKeyEvent': { params: KeyEvent; result: object };
  'Input.dispatchMouseEvent': { params: MouseEvent; result: object };
  'Input.insertText': { params: { text: string }; result: object };
  'Input.setInterceptDrags': { params: { enabled: boolean }; result: object };
  'Network.enable': { params: object; result: object };
  'Page.captureScreenshot': { params: { format: 'png' }; result: { data: string } };
  'Page.createIsolatedWorld': { params: { frameId: string; worldName: string }; result: { executionContextId: number } };
  'Page.enable': { params: object; result: object };
  'Page.getFrameTree': { params: object; result: { frameTree: FrameTree } };
  'Page.getLayoutMetrics': { params: object; result: { cssVisualViewport: VisualViewport } };
  'Page.handleJavaScriptDialog': { params: { accept: boolean }; result: object };
  'Page.navigate': { params: { url: string }; result: { errorText?: string } };
  'Page.screencastFrameAck': { params: { sessionId: number }; result: object };
  'Page.startScreencast': { params: ScreencastSettings; result: object };
  'Page.stopScreencast': { params: object; result: object };
  'Runtime.callFunctionOn': {
    params: {
      objectId?: string;
      executionContextId?: number;
      functionDeclaration: string;
      arguments: ({ value: unknown } | { objectId: string })[];
      awaitPromise?: boolean;
      returnByValue: boolean;
    };
    result: Evaluation;
  };
  'Runtime.evaluate': {
    params: { expression: string; contextId?: number; awaitPromise?: boolean; returnByValue?: boolean; userGesture?: boolean };
    result: Evaluation;
  };
  'Storage.getCookies': { params: object; result: { cookies: (Cookie & { session: boolean })[] } };
  'Storage.setCookies': { params: { cookies: Cookie[] }; result: object };
  'Target.attachToTarget': { params: { targetId: string; flatten: true }; result: { sessionId: string } };
  'Target.closeTarget': { params: { targetId: string }; result: object };
  'Target.createBrowserContext': { params: object; result: { browserContextId: string } };
  'Target.createTarget': {
    params: { url: string; browserContextId?: string; background?: boolean };
    result: { targetId: string };
  };
  'Target.detachFromTarget': { params: { sessionId: string }; result: object };
  'Target.disposeBrowserContext': { params: { browserContextId: string }; result: object };
  'Target.setAutoAttach': { params: { autoAttach: boolean; waitForDebuggerOnStart: boolean; flatten: true }; result: object };
  'Target.setDiscoverTargets': { params: { discover: true; filter: { type?: string; exclude?: boolean }[] }; result: object };
};

/** Handed on as it comes. */
export type Cookie = { name: string; value: string; domain?: string; httpOnly?: boolean };

/** The events that the service itself listens to. */
export type CdpEvent =
  | { method: 'Fetch.requestPaused'; sessionId: string; params: { requestId: string; frameId: string; request: { url: string } } }
  | { method: 'Input.dragIntercepted'; sessionId: string; params: { data: DragData } }
  | { method: 'Network.loadingFailed' | 'Network.loadingFinished'; sessionId: string; params: { requestId: string } }
  | { method: 'Network.requestWillBeSent'; sessionId: string; params: { requestId: string; type?: string; frameId?: string } }
  | { method: 'Network.responseReceived'; sessionId: string; params: ResponseReceived }
  | { method: 'Page.frameDetached'; sessionId: string; params: { frameId: string; reason: 'remove' | 'swap' } }
  | { method: 'Page.frameNavigated'; sessionId: string; params: { frame: Frame } }
  | { method: 'Page.javascriptDialogOpening'; sessionId: string; params: { message: string } }
  | { method: 'Page.screencastFrame'; sessionId: string; params: ScreencastFrame }
  | { method: 'Target.attachedToTarget'; sessionId?: string; params: { sessionId: string; targetInfo: TargetInfo } }
  | { method: 'Target.detachedFromTarget'; sessionId?: string; params: { sessionId: string } }
  | { method: 'Target.targetCrashed'; params: { targetId: string } }
  | { method: 'Target.targetCreated'; params: { targetInfo: TargetInfo } }
  | { method: 'Target.targetDestroyed'; params: { targetId: string } };

/** `maxFramesInFlight` and `sendLastFrame`: what was drawn while a frame waits for its acknowledgement is sent after it, the newest only. */
type ScreencastSettings = {
  format: 'jpeg';
  quality: number;
  maxWidth: number;
  maxHeight: number;
  maxFramesInFlight: number;
  sendLastFrame: boolean;
};

/** `data` is the JPEG in base64, `sessionId` the number by which the frame is acknowledged, `deviceWidth` and `deviceHeight` the page's size in CSS pixels. */
export type ScreencastFrame = {
  data: string;
  sessionId: number;
  metadata: {
    deviceWidth: number;
    deviceHeight: number;
    pageScaleFactor: number;
    /** When it was drawn, in seconds since the epoch. */
    timestamp: number;
  };
};

type Evaluation = {
  result: { value?: unknown; objectId?: string };
  exceptionDetails?: { text: string; exception?: { description?: string } };
};

export type TargetInfo = { targetId: string; type: string; browserContextId?: string; openerId?: string };

type Frame = { id: string };

export type FrameTree = { frame: Frame; childFrames?: FrameTree[] };

/** As far as the service looks at it: an element with the trees in it. */
export type DomNode = {
  backendNodeId: number;
  shadowRootType?: 'open' | 'closed' | 'user-agent';
  children?: DomNode[];
  shadowRoots?: DomNode[];
};

type ResponseReceived = { type: string; frameId?: string; response: { status: number } };

export type KeyEvent = {
  type: 'keyDown' | 'rawKeyDown' | 'keyUp';
  key: string;
  code: string;
  windowsVirtualKeyCode: number;
  modifiers: number;
  location: number;
  text?: string;
  unmodifiedText?: string;
  autoRepeat?: boolean;
  isKeypad?: boolean;
};

/** Points are in CSS pixels of the page. `buttons` are those held down, as bits. */
export type MouseEvent = {
  type: 'mouseMoved' | 'mousePressed' | 'mouseReleased' | 'mouseWheel';
  x: number;
  y: number;
  modifiers: number;
  button?: MouseButton;
  buttons?: number;
  clickCount?: number;
  deltaX?: number;
  deltaY?: number;
  /** The pressure, 0 to 1. */
  force?: number;
};

/** What a page lets go when it is dragged; to be handed back as it came. */
export type DragData = { dragOperationsMask: number };

export type DragEvent = {
  type: 'dragEnter' | 'dragOver' | 'drop' | 'dragCancel';
  x: number;
  y: number;
  data: DragData;
  modifiers: number;
};

/** Its size in CSS pixels, and how many pixels of the screen each is: 1, but for pages of phones, which are shown larger or smaller. */
export type VisualViewport = { clientWidth: number; clientHeight: number; scale: number };

export type MouseButton = 'none' | 'left' | 'middle' | 'right' | 'back' | 'forward';
