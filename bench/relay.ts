import { connect, createServer, type AddressInfo } from 'node:net';

// `node relay.js port` carries bytes to a port of this machine and back, looks at nothing, and prints where it listens.

const [, , port] = process.argv;
const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
  client.pipe(upstream).pipe(client);
  client.on('error', () => upstream.destroy());
  upstream.on('error', () => client.destroy());
}).listen(0, '127.0.0.1', () => console.log(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`));
process.stdin.resume().once('end', () => process.exit());
