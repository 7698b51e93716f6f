import { readDraft, writeDraft } from './drafts.js';

const address = location.pathname;
const rows = new Map(); // id of a to-do -> its list item, kept so that focus survives a change
let list = { invite: '', todos: [] };

const byId = (id) => document.getElementById(id);

byId('csv').href = `${address}/export.csv`;
byId('json').href = `${address}/export.json`;
const events = new EventSource(`${address}/events`);
events.addEventListener('message', (event) => show(JSON.parse(event.data)));
events.addEventListener('message', letIn, { once: true });
byId('filter').addEventListener('change', onFilter);
byId('todos').addEventListener('keydown', onKey);
byId('add').addEventListener('submit', (event) => void add(event));
byId('add').addEventListener('input', () => void keepDraft());
byId('share').addEventListener('click', () => void share());
byId('progress').addEventListener('mousemove', showTooltip);
byId('progress').addEventListener('mouseleave', () => (byId('tooltip').hidden = true));
for (const choice of document.querySelectorAll('[name=show]'))
  choice.checked = choice.value === (localStorage.getItem('show') ?? 'all');
const draft = await readDraft(address);
// The user may have begun to type meanwhile.
byId('add').elements.title.value ||= draft;

/** The form was hidden until now: without listeners the browser would send it to the server. */
function letIn() {
  document.querySelector('main').hidden = false;
  byId('add').elements.title.focus();
}

async function add(event) {
  event.preventDefault();
  const input = event.target.elements.title;
  const title = input.value.trim();
  if (!title) return;
  input.value = '';
  await change('/todos', { method: 'POST', body: JSON.stringify({ title }) });
  await writeDraft(address, input.value);
}

/** Restores the typed text when the list opens again. */
async function keepDraft() {
  await writeDraft(address, byId('add').elements.title.value);
  byId('message').textContent = 'Draft kept';
}

function onFilter() {
  localStorage.setItem('show', document.querySelector('[name=show]:checked').value);
  show(list);
}

async function share() {
  const link = `${location.origin}${address}?invite=${list.invite}`;
  try {
    await navigator.clipboard.writeText(link);
    byId('message').textContent = 'Link copied';
  } catch {
    byId('message').textContent = `Copy this link: ${link}`;
  }
}

function showTooltip(event) {
  const tooltip = byId('tooltip');
  tooltip.hidden = false;
  tooltip.textContent = `${list.todos.filter((todo) => todo.done).length} of ${list.todos.length} done`;
  tooltip.style.left = `${event.pageX + 12}px`;
  tooltip.style.top = `${event.pageY + 12}px`;
}

async function change(path, request) {
  const response = await fetch(address + path, request);
  if (!response.ok) byId('message').textContent = await response.text();
}

function onKey(event) {
  const items = [...byId('todos').children];
  const index = items.indexOf(event.target.closest('#todos > li'));
  if (event.key === 'Delete') items[index].querySelector('button').click();
  const next = { ArrowDown: items[index + 1], ArrowUp: items[index - 1] }[event.key];
  if (!next) return;
  event.preventDefault();
  next.querySelector('[type=checkbox]').focus();
}

function show(newList) {
  list = newList;
  const filter = document.querySelector('[name=show]:checked').value;
  const done = list.todos.filter((todo) => todo.done).length;
  byId('progress').ariaValueMax = list.todos.length;
  byId('progress').ariaValueNow = done;
  byId('progress').firstElementChild.style.width = `${(100 * done) / (list.todos.length || 1)}%`;
  byId('left').textContent = `${list.todos.length - done} left`;

  const ids = new Set(list.todos.map((todo) => todo.id));
  for (const [id, row] of rows) {
    if (ids.has(id)) continue;
    row.remove();
    rows.delete(id);
  }
  for (const todo of list.todos) {
    const row = rows.get(todo.id) ?? addRow(todo);
    row.hidden = filter !== 'all' && todo.done !== (filter === 'done');
    row.querySelector('[type=checkbox]').checked = todo.done;
    row.querySelector('ul').replaceChildren(...todo.attachments.map((attachment) => attachmentItem(todo, attachment)));
  }
}

function addRow(todo) {
  const row = byId('todo').content.cloneNode(true).firstElementChild;
  const [checkbox, file] = row.querySelectorAll('input');
  row.querySelector('span').textContent = todo.title;
  row.querySelector('.hidden').textContent = `Attach a file to ${todo.title}`;
  row.querySelector('button').ariaLabel = `Delete ${todo.title}`;
  row.querySelector('ul').ariaLabel = `Attachments of ${todo.title}`;
  checkbox.addEventListener('change', () =>
    change(`/todos/${todo.id}`, { method: 'PATCH', body: JSON.stringify({ done: checkbox.checked }) }),
  );
  row.querySelector('button').addEventListener('click', () => change(`/todos/${todo.id}`, { method: 'DELETE' }));
  file.addEventListener('change', async () => {
    for (const chosen of file.files)
      await change(`/todos/${todo.id}/attachments?name=${encodeURIComponent(chosen.name)}`, {
        method: 'POST',
        body: chosen,
      });
    file.value = '';
  });
  rows.set(todo.id, row);
  byId('todos').append(row);
  return row;
}

function attachmentItem(todo, { id, name, size, sha256 }) {
  const item = document.createElement('li');
  const link = Object.assign(document.createElement('a'), {
    href: `${address}/todos/${todo.id}/attachments/${id}`,
    download: name,
  });
  link.textContent = name;
  item.append(link, ` ${size} bytes, `, Object.assign(document.createElement('code'), { textContent: sha256 }));
  return item;
}
