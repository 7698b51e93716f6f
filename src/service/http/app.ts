import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { OperationError } from '../../contract/errors.ts';
import { operationsOf, type Operation, type OperationTree } from '../../contract/operation.ts';
import type { Clock } from '../clock.ts';
import { errorCode } from '../system-error.ts';
import { toAnswer } from './answer.ts';
import type { Auditor } from './audit.ts';
import { errorBody, errorHeaders, toOperationError } from './error-answer.ts';
import { announceRemoval } from './former-path.ts';
import type { ApiKeyIdentity, Caller, Handler, HandlerInput, HandlerTree } from './handler.ts';
import { HangUps } from './hang-ups.ts';
import { readBody, readJson, readQuery } from './request.ts';

/** `apiKey` is there once the bearer token is checked. */
type AppEnvironment = { Bindings: HttpBindings; Variables: { apiKey: ApiKeyIdentity } };
type App = Hono<AppEnvironment>;
type AppContext = Context<AppEnvironment>;

/** What is known of callers. */
export type Callers = {
  /** The API key that a bearer token is; `undefined` for one that may not use the service. */
  identify(token: string): ApiKeyIdentity | undefined;
  /** The project in which a request acts. Throws `project_not_found` and `forbidden` where it may not act in the `chosen` one. */
  projectOf(apiKey: ApiKeyIdentity, chosen: string | undefined): string;
};

export type AppOptions<T extends OperationTree> = {
  contract: T;
  handlers: HandlerTree<T>;
  callers: Callers;
  clock: Clock;
  /** Learns who makes a request, and which operation it is. */
  auditor?: Auditor;
  /** The OpenAPI document; read without a bearer token, like any documentation. */
  openapi: () => Promise<unknown>;
  /** The largest request body in bytes. */
  bodyLimit?: number;
  /** What people look at; its links carry tokens of their own. */
  pages?: Hono<{ Bindings: HttpBindings }>;
  /** Registers a process as a user of the service; false when the service is about to end. */
  addUser?: (pid: number) => boolean;
};

/** The HTTP face of the handlers: checks, parses, answers. */
export function createApp<T extends OperationTree>(options: AppOptions<T>): App {
  const app: App = new Hono();
  app.onError((error, context) => answerError(error, context));
  app.notFound((context) => answerError(new OperationError('not_found', `there is nothing at ${context.req.path}`), context));

  const { auditor } = options;
  if (auditor) {
    app.use(async (context, next) => {
      auditor.meet(context);
      await next();
    });
  }
  if (options.pages) app.route('/', options.pages);
  app.get('/openapi.json', async (context) => context.json(await options.openapi()));
  app.use(async (context, next) => {
    const [, token] = /^Bearer +(.+)$/i.exec(context.req.header('authorization') ?? '') ?? [];
    const apiKey = token === undefined ? undefined : options.callers.identify(token);
    if (!apiKey) {
      throw new OperationError(
        'unauthorized',
        token === undefined ? 'the Authorization header must carry a bearer token' : 'the API key is not known here',
      );
    }
    context.set('apiKey', apiKey);
    await next();
  });

  const hangUps = new HangUps();
  for (const [name, operation] of operationsOf(options.contract)) {
    const handler = handlerAt(options.handlers, name);
    app.on(operation.method, honoPath(operation), (context) => {
      if ('deprecated' in operation) announceRemoval(context, operation, options.clock);
      return run(context, operation, handler, { ...options, hangUps });
    });
  }
  const { addUser } = options;
  if (addUser) app.post('/users', (context) => registerUser(context, addUser));
  refuseOtherMethods(app);
  return app;
}

async function run(
  context: AppContext,
  operation: Operation,
  handler: Handler<Operation>,
  { callers, bodyLimit, hangUps }: Pick<AppOptions<OperationTree>, 'callers' | 'bodyLimit'> & { hangUps: HangUps },
): Promise<Response> {
  const { incoming, outgoing } = context.env;
  // Who may not act here need not send a body.
  callerOf(context, operation, callers);
  const query = readQuery(operation, new URL(context.req.url).searchParams);
  const body = await readBody(operation, incoming, bodyLimit);
  const input = {
    // Once more: while the body came, the project may have been deleted.
    caller: callerOf(context, operation, callers),
    params: context.req.param(),
    query,
    body,
    signal: hangUps.signalOf(incoming, outgoing),
    host: context.req.header('host') ?? '',
  };
  const value = await handler(input as HandlerInput<Operation>);
  return toAnswer(context, operation, value, query as { limit: number; offset: number } | undefined);
}

/** Throws `forbidden` for a project's key where only the organization's will do, and as `projectOf` does. */
function callerOf(context: AppContext, { scope }: Operation, callers: Callers): Caller {
  const apiKey = context.get('apiKey');
  if (scope === 'organization' && apiKey.projectId !== undefined) {
    throw new OperationError('forbidden', "this acts on the whole organization and needs an organization key, not a project's");
  }
  const chosen = scope === undefined ? context.req.header('x-kernel-project-id')?.trim() : undefined;
  return { apiKey, projectId: callers.projectOf(apiKey, chosen || undefined) };
}

function answerError(error: unknown, context: AppContext): Response {
  const answer = toOperationError(error);
  const { incoming, outgoing } = context.env;
  // The rest of a body that nobody reads any more is dropped, and must not wait for a reader.
  incoming.unpipe();
  if (answer.code === 'internal_error' && !isHangUp(error)) {
    console.error(`${context.req.method} ${context.req.path} failed, x-request-id ${String(outgoing.getHeader('x-request-id'))}:`, error);
  }
  if (outgoing.headersSent) return RESPONSE_ALREADY_SENT;
  return Response.json(errorBody(answer), { status: answer.status, headers: errorHeaders(answer) });
}

const hangUpCodes = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE', 'ECONNRESET']);

/** The caller went away before its answer, or in the middle of that or of its body. */
function isHangUp(error: unknown): boolean {
  return hangUpCodes.has(errorCode(error) ?? '');
}

async function registerUser(context: AppContext, addUser: (pid: number) => boolean): Promise<Response> {
  const { pid } = await readJson(context.env.incoming, z.strictObject({ pid: z.int().positive() }));
  if (!addUser(pid)) throw new OperationError('unavailable', 'the service is about to end');
  return new Response(null, { status: 204 });
}

function refuseOtherMethods(app: App): void {
  const methods = new Map<string, string[]>();
  for (const { path, method } of app.routes) {
    if (method !== 'ALL') methods.set(path, [...(methods.get(path) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
  }
  for (const [path, allowed] of methods) {
    app.all(path, (context) => {
      context.env.outgoing.setHeader('allow', allowed.join(', '));
      throw new OperationError('method_not_allowed', `${context.req.method} is not offered here; ${allowed.join(', ')} is`);
    });
  }
}

/** The handler of an operation's dotted name; under its former path it has the same. */
function handlerAt(handlers: object, name: string): Handler<Operation> {
  const keys = name.split('.').filter((key) => key !== 'deprecated');
  const handler = keys.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], handlers);
  return handler as Handler<Operation>;
}

function honoPath(operation: Operation): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, ':$1');
}
