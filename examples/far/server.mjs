// An app with a guest book. It listens on this machine's loopback address only.
import { fstatSync } from 'node:fs';
import { createServer } from 'node:http';

const page = `<!doctype html>
<title>Guest book</title>
<h1>Guest book</h1>
<form><label>Name <input name="name" required></label> <button>Sign</button></form>
<ul></ul>
<script type="module">
  const form = document.querySelector('form');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    await fetch('/guests', { method: 'POST', body: new FormData(form).get('name') });
    form.reset();
  });
  new EventSource('/guests').addEventListener('message', ({ data }) => {
    const item = document.createElement('li');
    item.textContent = data;
    document.querySelector('ul').append(item);
  });
</script>`;

const followers = new Set();

const server = createServer(async (request, response) => {
  if (request.url !== '/guests') return response.setHeader('content-type', 'text/html; charset=utf-8').end(page);
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    followers.add(response);
    return response.once('close', () => followers.delete(response));
  }
  let name = '';
  for await (const chunk of request) name += chunk;
  for (const follower of followers) follower.write(`data: ${name}\n\n`);
  return response.writeHead(204).end();
});
server.listen(0, '127.0.0.1', () => console.log(`guest book on http://localhost:${server.address().port}`));

// The test runner gives a pipe as stdin. It ends with the runner, even if the runner is killed.
const stdin = fstatSync(0, { throwIfNoEntry: false });
if (stdin?.isFIFO() || stdin?.isSocket()) process.stdin.resume().on('end', () => process.exit());
