import { connect, createServer, type AddressInfo } from 'node:net';

// `node relay.js ws://host:port/path` copies bytes in both directions without reading them, and prints its own URL.

const endpoint = new URL(process.argv[2]!);
const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect({ port: Number(endpoint.port), host: endpoint.hostname, noDelay: true });
  client.pipe(upstream).pipe(client);
  client.on('error', () => upstream.destroy());
  upstream.on('error', () => client.destroy());
}).listen(0, '127.0.0.1', () =>
  console.log(`ws://127.0.0.1:${(server.address() as AddressInfo).port}${endpoint.pathname}`),
);
process.stdin.resume().once('end', () => process.exit());
