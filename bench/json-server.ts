import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// `node json-server.js` answers every request with the same small JSON, as fast as Node can, and prints its URL.

const answer = JSON.stringify({ id: 'kpn5v8ek0gfzbd1p2hqv2x3y', name: 'bench', created_at: new Date(0).toISOString() });
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length }).end(answer);
}).listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
process.stdin.resume().once('end', () => process.exit());
