import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const page = readFileSync(new URL('orders.html', import.meta.url));
const server = createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end(page));
server.listen(0, '127.0.0.1', () => console.log(`orders at http://127.0.0.1:${server.address().port}`));
