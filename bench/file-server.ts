import { createReadStream, createWriteStream } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';

// `node file-server.js <file>` keeps the last uploaded file, and prints its URL.

const file = process.argv[2]!;
const server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'PUT') return await pipeline(createReadStream(file), response);
  await pipeline(request, createWriteStream(file));
  response.end();
}
process.stdin.resume().once('end', () => process.exit());
