import { useEffect, useState } from 'preact/hooks';

type Message = { id: number; text: string; kind: 'done' | 'error' };

const shownMs = 5000;
let messages: Message[] = [];
let lastId = 0;
let changed = () => {};

/** Shows for 5 s that an action is done. */
export function tellDone(text: string): void {
  const id = add('done', text);
  setTimeout(() => remove(id), shownMs);
}

/** Shows an error until the person closes it. */
export function tellError(error: unknown): void {
  add('error', error instanceof Error ? error.message : String(error));
}

/** Runs an action of a button. Shows the text `done`, or the action's error. */
export async function attempt(done: string, act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
    tellDone(done);
  } catch (error) {
    tellError(error);
  }
}

/** Shows the messages of actions at the edge of the dashboard. */
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
