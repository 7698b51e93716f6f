import type { SessionOptions } from 'node:http2';

/** The most unread bytes of a stream. With a round trip of 100 ms, it limits a stream to 10 MB/s. */
export const windowBytes = 1024 * 1024;

/** The most connections through one tunnel at once. Chromium opens up to 32 for each context, and as many for WebSockets. */
export const mostStreams = 512;

/** The settings of HTTP/2 at both ends of a tunnel. */
export const streamOptions: SessionOptions = {
  settings: { enablePush: false, initialWindowSize: windowBytes, maxConcurrentStreams: mostStreams },
  // The memory limit of Node's HTTP/2 library, in MB. The default, 10, is too small for many streams at once.
  maxSessionMemory: 64,
};

/** The window of the connection in bytes. It limits data that is being sent, not unread data (README.md). */
export const connectionWindowBytes = 64 * 1024 * 1024;

/** The header of an answer with the reason why a connection failed. */
export const reasonHeader = 'tunnel-reason';

/** The header of the answer to the upgrade with the address of a proxy, on the browser's machine, into the tunnel. */
export const proxyHeader = 'tunnel-proxy';

/** The options of the WebSocket. Messages are small: both ends send at most a few HTTP/2 frames at once. */
export const socketOptions = { perMessageDeflate: false, maxPayload: 16 * 1024 * 1024, closeTimeout: 2000 };
