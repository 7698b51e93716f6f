import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

// `node delaying-proxy.js http://host:port 50` forwards connections and delays the bytes of each direction by 50 ms, in order and at any rate.
// A connection first takes a round trip of its own, as the handshake of TCP does. Prints its own URL.

const target = new URL(process.argv[2]!);
const delay = Number(process.argv[3]);
/** In milliseconds. */
const timerError = 1.5;
const server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
  const upstream = connect({ port: Number(target.port), host: target.hostname, noDelay: true, allowHalfOpen: true });
  forward(client, upstream, performance.now() + 2 * delay);
  forward(upstream, client, 0);
}).listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
process.stdin.resume().once('end', () => process.exit());

/** `opens` is the time of the handshake's end: nothing is sent earlier. */
function forward(from: Socket, to: Socket, opens: number): void {
  const waiting: { at: number; act: () => void }[] = [];
  const flush = () => {
    while (waiting[0] && waiting[0].at <= performance.now()) waiting.shift()!.act();
    if (waiting[0]) wait(flush, waiting[0].at - performance.now());
  };
  const later = (act: () => void) => {
    waiting.push({ at: Math.max(performance.now(), opens) + delay, act });
    if (waiting.length === 1) wait(flush, waiting[0]!.at - performance.now());
  };
  from.on('data', (chunk: Buffer) => later(() => to.write(chunk)));
  from.on('end', () => later(() => to.end()));
  from.on('close', () => later(() => to.destroy()));
  from.on('error', () => undefined);
}

/** Calls `act` after `ms`. A timer may be late by more than 1 ms, so the last part of the wait polls the clock. */
function wait(act: () => void, ms: number): void {
  if (ms > timerError) setTimeout(act, ms - timerError);
  else setImmediate(act);
}
