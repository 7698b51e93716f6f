import { type Client, ConflictError, NotFoundError, ServiceError } from '../../src/client/index.ts';

type Call = (...args: never[]) => unknown;

/** A client whose operations, by names such as `auth.connections.login`, answer as told, and which notes what was called in `calls`. */
export function fakeClient(answers: Record<string, Call>): { client: Client; calls: string[] } {
  const calls: string[] = [];
  const at = (name: string): unknown =>
    new Proxy(() => {}, {
      get: (_, key) => at(name === '' ? String(key) : `${name}.${String(key)}`),
      apply: (_, __, args: never[]) => {
        calls.push(name);
        const answer = answers[name];
        if (!answer) throw new Error(`${name} is not expected`);
        return answer(...args);
      },
    });
  return { client: at('') as Client, calls };
}

const call = { method: 'POST', url: 'http://service' };

export async function conflict(): Promise<never> {
  throw new ConflictError({ ...call, status: 409, message: 'there is one' });
}

export async function missing(): Promise<never> {
  throw new NotFoundError({ ...call, status: 404, message: 'there is none' });
}

export async function broken(): Promise<never> {
  throw new ServiceError({ ...call, status: 500, message: 'the disk is full' });
}
