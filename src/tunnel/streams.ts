import type { SessionOptions } from 'node:http2';

/** The credit of each stream. A stream that nobody reads holds so many bytes; at 100 ms round trip it carries 10 MB/s. */
export const windowBytes = 1024 * 1024;

/** Connections through one tunnel at once. Chromium opens 32 for each of its contexts, and as many for WebSockets. */
export const mostStreams = 512;

/** The settings of HTTP/2 at both ends of a tunnel. */
export const streamOptions: SessionOptions = {
  settings: { enablePush: false, initialWindowSize: windowBytes, maxConcurrentStreams: mostStreams },
  // The limit of nghttp2's own memory, in MB. The default, 10, is too small for many streams at once.
  maxSessionMemory: 64,
};

/** The window of the connection in bytes. It only limits data on the way, see README.md. */
export const connectionWindowBytes = 64 * 1024 * 1024;

/** The header of an answer that says why there is no connection. */
export const reasonHeader = 'tunnel-reason';

/** The header of the answer to the upgrade with the address of the proxy that leads through the tunnel. */
export const proxyHeader = 'tunnel-proxy';

/** Of the WebSocket. Both ends send nothing larger than a few HTTP/2 frames. */
export const socketOptions = { perMessageDeflate: false, maxPayload: 16 * 1024 * 1024, closeTimeout: 2000 };
