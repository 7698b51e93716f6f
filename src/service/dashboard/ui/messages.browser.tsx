import { useEffect, useState } from 'preact/hooks';

type Message = { id: number; text: string; kind: 'done' | 'error' };

const shownMs = 5000;
let messages: Message[] = [];
let lastId = 0;
let changed = () => {};

/** Tells that an action is done. */
export function tellDone(text: string): void {
  const id = add('done', text);
  setTimeout(() => remove(id), shownMs);
}

/** Tells an error. It stays until the person closes it. */
export function tellError(error: unknown): void {
  add('error', error instanceof Error ? error.message : String(error));
}

/** Runs an action of a button. Tells its end or its error. */
export async function attempt(done: string, act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
    tellDone(done);
  } catch (error) {
    tellError(error);
  }
}

export function Messages() {
  const [, set] = useState(0);
  useEffect(() => {
    changed = () => set((count) => count + 1);
  }, []);
  return (
    <div class="messages">
      <div role="status" aria-label="Done">
        {ofKind('done').map(({ id, text }) => (
          <p key={id} class="message">
            {text}
          </p>
        ))}
      </div>
      {ofKind('error').map(({ id, text }) => (
        <div key={id} role="alert" class="message error">
          <p>{text}</p>
          <button type="button" class="plain" onClick={() => remove(id)}>
            Close
          </button>
        </div>
      ))}
    </div>
  );
}

function ofKind(kind: Message['kind']): Message[] {
  return messages.filter((message) => message.kind === kind);
}

function add(kind: Message['kind'], text: string): number {
  const id = (lastId += 1);
  messages = [...messages.slice(-3), { id, text, kind }];
  changed();
  return id;
}

function remove(id: number): void {
  messages = messages.filter((message) => message.id !== id);
  changed();
}
