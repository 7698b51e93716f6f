// The to-do application: node examples/todo/server.mjs, then log in as alice (wonderland), bob (builder) or carol
// (looking glass).
import { randomUUID } from 'node:crypto';
import { fstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { addTodo, attach, completeTodo, deleteTodo, Lists, summary, toCsv } from './lists.mjs';

const passwords = { alice: 'wonderland', bob: 'builder', carol: 'looking glass' };
const assets = { '/drafts.js': 'text/javascript', '/list.js': 'text/javascript', '/style.css': 'text/css' };
const largestBody = 100 * 1024 * 1024;

const lists = new Lists();
const users = new Map(); // value of the session cookie -> user

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    if (response.headersSent) response.destroy(error);
    else send(response, error.status ?? 500, 'text/plain', error.message);
  });
});
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  process.stdout.write(`to-do application on http://127.0.0.1:${server.address().port}\n`);
});

// The test runner gives a pipe as stdin. It ends with the runner, even if the runner is killed.
const stdin = fstatSync(0, { throwIfNoEntry: false });
if (stdin?.isFIFO() || stdin?.isSocket()) process.stdin.resume().on('end', () => process.exit());

async function answer(request, response) {
  const url = new URL(request.url, 'http://localhost');
  const route = `${request.method} ${url.pathname}`;
  if (url.pathname in assets) return file(response, url.pathname, assets[url.pathname]);
  if (route === 'GET /login') return file(response, '/login.html', 'text/html');
  if (route === 'POST /login') return logIn(request, response);

  const cookie = /(?:^|; )session=([^;]+)/.exec(request.headers.cookie ?? '')?.[1];
  const user = users.get(cookie);
  if (!user) {
    const next = request.method === 'GET' ? url.pathname + url.search : '/';
    return redirect(response, `/login?next=${encodeURIComponent(next)}`);
  }
  if (route === 'POST /logout') {
    users.delete(cookie);
    return redirect(response, '/login');
  }
  if (route === 'GET /') return file(response, '/lists.html', 'text/html');
  if (route === 'GET /lists') return json(response, { user, ids: lists.of(user).map((list) => list.id) });
  if (route === 'POST /lists') return redirect(response, `/lists/${lists.create(user).id}`);

  const [, area, id, ...path] = url.pathname.split('/');
  const list = area === 'lists' && lists.open(id, user, url.searchParams.get('invite'));
  if (!list) throw notFound();
  if (request.method === 'GET') return read(list, path, response);
  await write(list, path, request, url);
  return json(response, summary(list));
}

async function logIn(request, response) {
  const form = new URLSearchParams((await body(request)).toString());
  const user = form.get('user') ?? '';
  const next = form.get('next') ?? '/';
  if (!Object.hasOwn(passwords, user) || passwords[user] !== form.get('password')) {
    return redirect(response, `/login?failed&next=${encodeURIComponent(next)}`);
  }
  const cookie = randomUUID();
  users.set(cookie, user);
  response.setHeader('set-cookie', `session=${cookie}; Path=/; HttpOnly; SameSite=Lax`);
  return redirect(response, /^\/(?![/\\])/.test(next) ? next : '/');
}

function read(list, path, response) {
  const [what, todoId, , attachmentId] = path;
  if (what === undefined) return file(response, '/list.html', 'text/html');
  if (what === 'events') return follow(list, response);
  if (what === 'export.csv') return download(response, 'todos.csv', 'text/csv', toCsv(list));
  if (what === 'export.json')
    return download(response, 'todos.json', 'application/json', JSON.stringify(summary(list).todos, null, 2));
  if (what === 'todos' && todoId === undefined) return json(response, summary(list));
  const attachment = what === 'todos' && find(list.todos, todoId).attachments.find(({ id }) => id === attachmentId);
  if (!attachment) throw notFound();
  return download(response, attachment.name, 'application/octet-stream', list.contents.get(attachment.id));
}

async function write(list, [what, todoId, attachments], request, url) {
  if (what !== 'todos') throw notFound();
  if (request.method === 'POST' && todoId === undefined) return addTodo(list, title(await parsed(request)));
  const todo = find(list.todos, todoId);
  if (request.method === 'DELETE') return deleteTodo(list, todo);
  if (request.method === 'PATCH') return completeTodo(list, todo, (await parsed(request)).done === true);
  if (request.method === 'POST' && attachments)
    return attach(list, todo, url.searchParams.get('name') ?? 'file', await body(request));
  throw notFound();
}

/** Server-sent events with the list now and after every change, until the page closes. */
function follow(list, response) {
  const watcher = () => response.write(`data: ${JSON.stringify(summary(list))}\n\n`);
  list.watchers.add(watcher);
  response.on('close', () => list.watchers.delete(watcher));
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  watcher();
}

function title(todo) {
  const text = typeof todo.title === 'string' ? todo.title.trim() : '';
  if (!text) throw Object.assign(new Error('A to-do needs a title.'), { status: 400 });
  return text;
}

function find(todos, id) {
  const todo = todos.find((candidate) => candidate.id === id);
  if (!todo) throw notFound();
  return todo;
}

async function parsed(request) {
  try {
    return JSON.parse((await body(request)).toString()) ?? {};
  } catch {
    throw Object.assign(new Error('The body must be JSON.'), { status: 400 });
  }
}

async function body(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > largestBody) throw Object.assign(new Error('At most 100 MiB are accepted.'), { status: 413 });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function file(response, name, type) {
  send(response, 200, type, await readFile(new URL(`public${name}`, import.meta.url)));
}

function json(response, value) {
  send(response, 200, 'application/json', JSON.stringify(value));
}

function download(response, name, type, content) {
  response.setHeader('content-disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name)}`);
  send(response, 200, type, content);
}

function redirect(response, location) {
  response.writeHead(303, { location }).end();
}

function send(response, status, type, content) {
  response.writeHead(status, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' }).end(content);
}

function notFound() {
  return Object.assign(new Error('Nothing is here.'), { status: 404 });
}
