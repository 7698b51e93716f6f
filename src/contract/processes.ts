import { z } from 'zod';
import { events, json, operation } from './operation.ts';
import { absolutePath, timestamp } from './values.ts';

const text = z.string().refine((value) => !value.includes('\0'), 'must not contain a NUL character');

/** The largest input of one call, and the most unread input of a process. In bytes. */
export const largestInput = 1024 * 1024;

const commandFields = {
  command: text
    .min(1)
    .describe('A program in PATH, or an absolute path in the session or on its machine. No shell reads it'),
  args: z.array(text).default([]),
  cwd: absolutePath.nullable().optional().describe('A directory of the session. Default: /home/user'),
  env: z
    .record(z.string().regex(/^[^=\0]{1,256}$/, 'must be a name of 1 to 256 characters without = and NUL'), text)
    .default({})
    .describe('Variables beside those that the service sets, or instead of them'),
  as_user: z.string().nullable().optional().describe('Not supported: processes run as the user of their session'),
  as_root: z.boolean().default(false).describe('Not supported: processes run as the user of their session'),
  timeout_sec: z
    .int()
    .nullable()
    .optional()
    .describe('Seconds until the process and its group get SIGTERM, and SIGKILL 2 s later. Default: no limit'),
};

const isOneUser = ({ as_user, as_root }: { as_user?: string | null | undefined; as_root: boolean }) =>
  !as_root || !as_user;
const twoUsers = 'must have either as_root or as_user, not both';

const size = { rows: z.int().min(1).max(65_535), cols: z.int().min(1).max(65_535) };

const processExec = z.strictObject(commandFields).refine(isOneUser, twoUsers);

const processSpawn = z
  .strictObject({
    ...commandFields,
    allocate_tty: z
      .boolean()
      .default(false)
      .describe(
        'Run it in a terminal. Its output is one stream, `stdout`. The service needs @lydell/node-pty for that',
      ),
    rows: size.rows.optional().describe('Size of the terminal. Default: 24 rows of 80 columns'),
    cols: size.cols.optional(),
  })
  .refine(isOneUser, twoUsers);

export type ProcessExec = z.output<typeof processExec>;
export type ProcessSpawn = z.output<typeof processSpawn>;

const exitCode = z.int().describe('-1 for a process that a signal ended');

const processResult = z.looseObject({
  exit_code: exitCode,
  stdout_b64: z.string().describe('Base64'),
  stderr_b64: z.string().describe('Base64'),
  duration_ms: z.int(),
});

export type ProcessResult = z.output<typeof processResult>;

const processStatus = z.looseObject({
  state: z.enum(['running', 'exited']),
  exit_code: exitCode.nullable(),
  cpu_pct: z.number().optional().describe('Of one processor, on average since its start. Only on Linux'),
  mem_bytes: z.int().optional().describe('Resident memory of the process, without its child processes. Only on Linux'),
});

export type ProcessStatus = z.output<typeof processStatus>;

/** Output of a process, or its end. */
const processEvent = z.union([
  z.looseObject({ stream: z.enum(['stdout', 'stderr']), data_b64: z.string() }),
  z.looseObject({ event: z.literal('exit'), exit_code: exitCode }),
]);

export type ProcessEvent = z.output<typeof processEvent>;

const ok = { 200: json(z.looseObject({ ok: z.boolean() })) };

/** The operations that run programs in a session. */
export const processes = {
  exec: operation(
    'POST /browsers/{id}/process/exec',
    'Run a program in the session, wait for its end and return its output, up to 16 MiB',
    { body: processExec, responses: { 200: json(processResult) }, errors: [429] },
  ),
  spawn: operation('POST /browsers/{id}/process/spawn', 'Start a program in the session', {
    body: processSpawn,
    responses: {
      200: json(z.looseObject({ process_id: z.string(), pid: z.int(), started_at: timestamp })),
    },
    errors: [429],
  }),
  status: operation('GET /browsers/{id}/process/{process_id}/status', 'Get the state of a process', {
    responses: { 200: json(processStatus) },
  }),
  stdoutStream: operation(
    'GET /browsers/{id}/process/{process_id}/stdout/stream',
    'Read the output of a process, from its start for the first reader, and its exit code. A new reader replaces the one before',
    { responses: { 200: events(processEvent) } },
  ),
  stdin: operation(
    'POST /browsers/{id}/process/{process_id}/stdin',
    'Write to the standard input of a process. 409: it has ended, has closed its input, or does not read it',
    {
      body: z.strictObject({
        data_b64: z
          .string()
          .max(Math.ceil(largestInput / 3) * 4, { error: 'must hold at most 1 MiB', abort: true })
          .check(z.base64()),
      }),
      responses: { 200: json(z.looseObject({ written_bytes: z.int() })) },
    },
  ),
  kill: operation('POST /browsers/{id}/process/{process_id}/kill', 'Send a signal to a process and its group', {
    body: z.strictObject({ signal: z.enum(['TERM', 'KILL', 'INT', 'HUP']).default('TERM') }),
    responses: ok,
  }),
  resize: operation('POST /browsers/{id}/process/{process_id}/resize', "Change the size of a process's terminal", {
    body: z.strictObject(size),
    responses: ok,
  }),
};
