/** The commands of the Chrome DevTools Protocol that the service itself sends, with what it uses of them. */
export type Commands = {
  'Browser.close': { params: object; result: object };
  'Browser.getVersion': { params: object; result: object };
  'Browser.grantPermissions': { params: { permissions: string[]; browserContextId: string }; result: object };
  'Browser.setDownloadBehavior': { params: { behavior: 'allow'; downloadPath: string }; result: object };
  'Emulation.setFocusEmulationEnabled': { params: { enabled: boolean }; result: object };
  'Input.dispatchDragEvent': { params: DragEvent; result: object };
  'Input.dispatchKeyEvent': { params: KeyEvent; result: object };
  'Input.dispatchMouseEvent': { params: MouseEvent; result: object };
  'Input.insertText': { params: { text: string }; result: object };
  'Input.setInterceptDrags': { params: { enabled: boolean }; result: object };
  'Page.captureScreenshot': { params: { format: 'png' }; result: { data: string } };
  'Page.getLayoutMetrics': { params: object; result: { cssVisualViewport: VisualViewport } };
  'Page.screencastFrameAck': { params: { sessionId: number }; result: object };
  'Page.startScreencast': { params: ScreencastSettings; result: object };
  'Page.stopScreencast': { params: object; result: object };
  'Runtime.callFunctionOn': {
    params: {
      objectId: string;
      functionDeclaration: string;
      arguments: { value: unknown }[];
      awaitPromise: boolean;
      returnByValue: boolean;
    };
    result: Evaluation;
  };
  'Runtime.evaluate': {
    params: { expression: string; awaitPromise: boolean; returnByValue: boolean; userGesture: boolean };
    result: Evaluation;
  };
  'Storage.getCookies': { params: object; result: { cookies: (Cookie & { session: boolean })[] } };
  'Storage.setCookies': { params: { cookies: Cookie[] }; result: object };
  'Target.attachToTarget': { params: { targetId: string; flatten: true }; result: { sessionId: string } };
  'Target.createBrowserContext': { params: object; result: { browserContextId: string } };
  'Target.createTarget': {
    params: { url: string; browserContextId?: string; background?: boolean };
    result: { targetId: string };
  };
  'Target.detachFromTarget': { params: { sessionId: string }; result: object };
  'Target.disposeBrowserContext': { params: { browserContextId: string }; result: object };
  'Target.setDiscoverTargets': { params: { discover: true; filter: { type?: string; exclude?: boolean }[] }; result: object };
};

/** Handed on as it comes. */
export type Cookie = { name: string; value: string };

/** The events that the service itself listens to. */
export type CdpEvent =
  | { method: 'Input.dragIntercepted'; sessionId: string; params: { data: DragData } }
  | { method: 'Page.screencastFrame'; sessionId: string; params: ScreencastFrame }
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
  metadata: { deviceWidth: number; deviceHeight: number; offsetTop: number; pageScaleFactor: number };
};

type Evaluation = {
  result: { value?: unknown; objectId?: string };
  exceptionDetails?: { text: string; exception?: { description?: string } };
};

export type TargetInfo = { targetId: string; type: string; browserContextId?: string };

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
