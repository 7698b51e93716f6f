import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { OperationError } from '../../contract/errors.ts';
import { operationsOf, type Operation, type OperationTree } from '../../contract/operation.ts';
import { toAnswer } from './answer.ts';
import { errorBody, errorHeaders, toOperationError } from './error-answer.ts';
import type { Handler, HandlerInput, HandlerTree } from './handler.ts';
import { readBody, readJson, readQuery } from './request.ts';

type App = Hono<{ Bindings: HttpBindings }>;
type AppContext = Context<{ Bindings: HttpBindings }>;

export type AppOptions<T extends OperationTree> = {
  contract: T;
  handlers: HandlerTree<T>;
  /** Whether a bearer token may use the service. */
  accepts: (token: string) => boolean;
  /** The OpenAPI document; read without a bearer token, like any documentation. */
  openapi: () => Promise<unknown>;
  /** The largest request body in bytes. */
  bodyLimit?: number;
  /** What people look at; its links carry tokens of their own. */
  pages?: App;
  /** Registers a process as a user of the service; false when the service is about to end. */
  addUser?: (pid: number) => boolean;
};

/** The HTTP face of the handlers: checks, parses, answers. */
export function createApp<T extends OperationTree>(options: AppOptions<T>): App {
  const app: App = new Hono();
  app.onError((error, context) => answerError(error, context));
  app.notFound((context) => answerError(new OperationError('not_found', `there is nothing at ${context.req.path}`), context));

  if (options.pages) app.route('/', options.pages);
  app.get('/openapi.json', async (context) => context.json(await options.openapi()));
  app.use(async (context, next) => {
    const [, token] = /^Bearer +(.+)$/i.exec(context.req.header('authorization') ?? '') ?? [];
    if (token === undefined || !options.accepts(token)) {
      throw new OperationError(
        'unauthorized',
        token === undefined ? 'the Authorization header must carry a bearer token' : 'the API key is not known here',
      );
    }
    await next();
  });

  for (const [name, operation] of operationsOf(options.contract)) {
    const handler = handlerAt(options.handlers, name);
    app.on(operation.method, honoPath(operation), (context) => run(context, operation, handler, options.bodyLimit));
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
  bodyLimit: number | undefined,
): Promise<Response> {
  const { incoming, outgoing } = context.env;
  const query = readQuery(operation, new URL(context.req.url).searchParams);
  const input = {
    params: context.req.param(),
    query,
    body: await readBody(operation, incoming, bodyLimit),
    signal: hangUpSignal(incoming, outgoing),
    host: context.req.header('host') ?? '',
  };
  const value = await handler(input as HandlerInput<Operation>);
  return toAnswer(context, operation, value, query as { limit: number; offset: number } | undefined);
}

/** Aborts when the connection closes before the whole answer was handed to it. */
function hangUpSignal(incoming: IncomingMessage, outgoing: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const { socket } = incoming;
  const hungUp = () => controller.abort(new OperationError('unavailable', 'the caller hung up'));
  if (socket.destroyed) hungUp();
  socket.once('close', hungUp);
  outgoing.once('finish', () => socket.off('close', hungUp));
  return controller.signal;
}

function answerError(error: unknown, context: AppContext): Response {
  const answer = toOperationError(error);
  const { outgoing } = context.env;
  if (answer.code === 'internal_error' && !isHangUp(error)) {
    console.error(`${context.req.method} ${context.req.path} failed, x-request-id ${String(outgoing.getHeader('x-request-id'))}:`, error);
  }
  if (outgoing.headersSent) return RESPONSE_ALREADY_SENT;
  return Response.json(errorBody(answer), { status: answer.status, headers: errorHeaders(answer) });
}

/** The caller went away in the middle of its body or of its answer. */
function isHangUp(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ERR_STREAM_PREMATURE_CLOSE' || error.code === 'ECONNRESET');
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

/** The handler of an operation's dotted name. */
function handlerAt(handlers: object, name: string): Handler<Operation> {
  const handler = name.split('.').reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], handlers);
  return handler as Handler<Operation>;
}

function honoPath(operation: Operation): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, ':$1');
}
