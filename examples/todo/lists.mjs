import { createHash, randomUUID } from 'node:crypto';

/** To-do lists that several users share, in memory. */
export class Lists {
  #lists = new Map();

  create(owner) {
    const list = {
      id: randomUUID(),
      invite: randomUUID(),
      members: new Set([owner]),
      todos: [],
      contents: new Map(),
      watchers: new Set(),
    };
    this.#lists.set(list.id, list);
    return list;
  }

  of(user) {
    return [...this.#lists.values()].filter((list) => list.members.has(user));
  }

  /** The list, if the user is a member or has its invite. */
  open(id, user, invite) {
    const list = this.#lists.get(id);
    if (list && invite === list.invite) list.members.add(user);
    return list?.members.has(user) ? list : undefined;
  }
}

export function addTodo(list, title) {
  const todo = { id: randomUUID(), title, done: false, attachments: [] };
  list.todos.push(todo);
  changed(list);
  return todo;
}

export function completeTodo(list, todo, done) {
  todo.done = done;
  changed(list);
}

export function deleteTodo(list, todo) {
  list.todos = list.todos.filter((other) => other !== todo);
  changed(list);
}

export function attach(list, todo, name, content) {
  const attachment = {
    id: randomUUID(),
    name,
    size: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
  };
  todo.attachments.push(attachment);
  list.contents.set(attachment.id, content);
  changed(list);
}

/** A list for the page, without the content of its attachments. */
export function summary(list) {
  return { invite: list.invite, todos: list.todos };
}

export function toCsv(list) {
  const rows = list.todos.map((todo) => [
    todo.title,
    todo.done ? 'yes' : 'no',
    todo.attachments.map(({ name }) => name).join(' '),
  ]);
  return [['title', 'done', 'attachments'], ...rows].map((row) => row.map(quoted).join(',') + '\r\n').join('');
}

function quoted(cell) {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function changed(list) {
  for (const watcher of list.watchers) watcher();
}
