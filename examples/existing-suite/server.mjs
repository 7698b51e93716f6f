import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const page = readFileSync(new URL('notes.html', import.meta.url));
const server = createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end(page));
server.listen(0, '127.0.0.1', () => console.log(`notes at http://127.0.0.1:${server.address().port}`));
