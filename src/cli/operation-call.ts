import { once } from 'node:events';
import { createReadStream, ReadStream } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Bytes, Client } from '../client/index.ts';
import { contract } from '../contract/contract.ts';
import { type Operation, operationsOf, pathParameterNames } from '../contract/operation.ts';
import { unknownField } from '../contract/values.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { saveBytes } from './save-bytes.ts';
import { type Columns, printJSON, printList } from './table.ts';

/** Names of files: `input` has the body, `output` gets the answer's bytes. */
export type CallOptions = { input?: string; output?: string };

type Arguments = { path: string[]; query: Record<string, unknown>; body: Record<string, unknown> };

/** Prints a table of all operations. */
export async function listOperations(): Promise<void> {
  const columns: Columns<[name: string, operation: Operation]> = {
    OPERATION: ([name]) => name,
    REQUEST: ([, { method, path }]) => `${method} ${path}`,
    'WHAT IT DOES': ([, { summary }]) => summary,
  };
  await printList(callable(), columns, {});
}

/** Prints the parameters of an operation. Throws if there is no such operation. */
export async function describe(name: string): Promise<void> {
  const [, operation] = operationNamed(name);
  const { openapi } = await import('../contract/openapi.ts');
  const { paths } = openapi({ operation }, { title: '', version: '' });
  const { summary, parameters, requestBody } = paths[operation.path]![operation.method.toLowerCase()]!;
  printJSON({
    request: `${operation.method} ${operation.path}`,
    summary,
    parameters,
    ...(requestBody && { body: requestBody.content }),
  });
}

/** Calls an operation and prints its answer. Throws for unknown parameters. */
export async function call(
  client: Client,
  name: string,
  parameters: string[],
  options: CallOptions,
  signal: AbortSignal,
): Promise<void> {
  const [exactName, operation] = operationNamed(name);
  if (options.output !== undefined && !Object.values(operation.responses).some(({ kind }) => kind === 'octets'))
    throw new CommandError(`${exactName} doesn't answer with a file: leave out --output`, exitCodes.usage);
  const args = await argumentsOf([exactName, operation], parameters, options, signal);
  const answer = await functionOf(client, exactName)(...args);
  if (answer === undefined && Object.values(operation.responses).some(({ kind }) => kind !== 'empty'))
    throw new CommandError(`${exactName} has no answer yet: call it again later`, exitCodes.nothingThere);
  await printAnswer(answer, options, signal);
}

function callable(): [name: string, operation: Operation][] {
  return [...operationsOf(contract)].filter(([, operation]) => !('deprecated' in operation));
}

function operationNamed(name: string): [name: string, operation: Operation] {
  const found = callable().find(([candidate]) => candidate.toLowerCase() === name.toLowerCase());
  if (found) return found;
  const near = callable().filter(([candidate]) =>
    candidate.toLowerCase().includes(name.toLowerCase().split('.').at(-1)!),
  );
  const hint =
    near.length > 0
      ? `did you mean ${near.map(([candidate]) => candidate).join(', ')}?`
      : 'run playwright-pool call to list all operations';
  throw new CommandError(`there is no operation ${name}: ${hint}`, exitCodes.usage);
}

function functionOf(client: Client, name: string): (...args: unknown[]) => unknown {
  return name.split('.').reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], client) as (
    ...args: unknown[]
  ) => unknown;
}

async function argumentsOf(
  [name, operation]: [name: string, operation: Operation],
  parameters: string[],
  { input }: CallOptions,
  signal: AbortSignal,
): Promise<unknown[]> {
  const { path, query, body } = sorted(operation, parameters.map(parse));
  const hasFields = Object.keys(body).length > 0;
  const sent = operation.body && (await bodyOf(operation.body, hasFields ? body : undefined, input, signal));
  refuseUnknownField(name, operation, sent);
  await Promise.all([sent, ...Object.values(body)].map((value) => opened(value, signal)));
  return [...path, ...(operation.body ? [sent] : []), ...(operation.query ? [query] : []), { signal }];
}

/** Refuses a body with a field that the operation doesn't have. The service would ignore most of them. */
function refuseUnknownField(name: string, operation: Operation, sent: unknown): void {
  const unknown = unknownField(operation, sent);
  if (!unknown) return;
  const { path, known } = unknown;
  const advice =
    known.length > 0 ? `the fields there are ${known.join(', ')}` : `see playwright-pool call ${name} --describe`;
  throw new CommandError(`${path} is not a field of ${operation.method} ${operation.path}: ${advice}`, exitCodes.usage);
}

async function bodyOf(
  kind: NonNullable<Operation['body']>,
  fields: Record<string, unknown> | undefined,
  input: string | undefined,
  signal: AbortSignal,
): Promise<unknown> {
  const stream = input === undefined ? undefined : input === '-' ? process.stdin : fileStream(input);
  if ('kind' in kind && kind.kind === 'octets') {
    if (stream && !fields) return stream;
    throw new CommandError(
      'this operation takes the content of a file: pass the file with --input, and no fields',
      exitCodes.usage,
    );
  }
  if (!stream) return fields;
  if (fields) throw new CommandError('pass the body either as parameters or with --input, not both', exitCodes.usage);
  return JSON.parse(await text(addAbortSignal(signal, stream))) as unknown;
}

/** Opens a file for a call. Ignores errors here: if the call fails early, nobody reads the stream or its error. */
function fileStream(file: string): Readable {
  return createReadStream(file).on('error', () => {});
}

/** Before the call: the service may refuse it before it reads a file, and then nobody would learn that the file is missing. */
async function opened(value: unknown, signal: AbortSignal): Promise<void> {
  if (!(value instanceof ReadStream) || !value.pending) return;
  if (value.errored) throw value.errored;
  await once(value, 'open', { signal });
}

function parse(parameter: string): [name: string, value: unknown] {
  const [, name, kind, value] = /^([\w-]+)(:=|=@|=)(.*)$/s.exec(parameter) ?? [];
  if (name === undefined)
    throw new CommandError(
      `${JSON.stringify(parameter)} is not a parameter: write name=text or name:=json`,
      exitCodes.usage,
    );
  if (kind === '=') return [name, value];
  if (kind === '=@') return [name, fileStream(value!)];
  try {
    return [name, JSON.parse(value!) as unknown];
  } catch {
    throw new CommandError(`the value of ${name} is not JSON: ${value}. For text, write ${name}=text`, exitCodes.usage);
  }
}

/** Sorts parameters into path, query and body. The body, if the operation has one, gets the unknown ones. */
function sorted(operation: Operation, parameters: [name: string, value: unknown][]): Arguments {
  const names = pathParameterNames(operation.path);
  const values = new Map(parameters);
  const missing = names.filter((name) => !values.has(name));
  if (missing.length > 0)
    throw new CommandError(
      `${operation.path} needs more parameters: ${missing.map((name) => `${name}=...`).join(' ')}`,
      exitCodes.usage,
    );
  const path = names.map((name) => String(values.get(name)));
  const rest = parameters.filter(([name]) => !names.includes(name));
  const isQuery = ([name]: [string, unknown]) => operation.query !== undefined && name in operation.query.shape;
  const unknown = operation.body ? undefined : rest.find((parameter) => !isQuery(parameter));
  if (unknown)
    throw new CommandError(
      `${unknown[0]} is not a parameter of ${operation.method} ${operation.path}`,
      exitCodes.usage,
    );
  return {
    path,
    query: Object.fromEntries(rest.filter(isQuery)),
    body: Object.fromEntries(rest.filter((parameter) => !isQuery(parameter))),
  };
}

async function printAnswer(value: unknown, { output }: CallOptions, signal: AbortSignal): Promise<void> {
  if (value === undefined) return;
  if (typeof value === 'object' && value !== null && 'stream' in value) {
    const bytes = value as Bytes;
    if (output !== undefined) await saveBytes(bytes, output, `Writing ${output}`, signal);
    else await pipeline(bytes.stream, process.stdout, { signal, end: false });
  } else if (typeof value === 'object' && value !== null && Symbol.asyncIterator in value) {
    for await (const item of value as AsyncIterable<unknown>) printJSON(item, { inOneLine: true });
  } else {
    printJSON(value);
  }
}
