import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { OperationError, shuttingDown } from '../../contract/errors.ts';
import {
  actsInSession,
  operationsOf,
  type DeprecatedOperation,
  type Operation,
  type OperationTree,
} from '../../contract/operation.ts';
import type { Clock } from '../process/clock.ts';
import type { Log } from '../process/log.ts';
import { WaitingBytes, type Claim } from '../process/waiting-bytes.ts';
import { Addresses } from './addresses.ts';
import { answerLate, toAnswer } from './answers/answer.ts';
import { answerError, errorAnswerer, noteFailure, type FailedRequest } from './answers/error-answer.ts';
import {
  bearerToken,
  browserPath,
  type ApiKeyIdentity,
  type Caller,
  type Handler,
  type HandlerInput,
  type HandlerTree,
} from './handler.ts';
import { HangUps } from './hang-ups.ts';
import { readBody, readJson, readQuery } from './requests/request.ts';
import {
  holderOf,
  rawPath,
  sessionOf,
  tokenPath,
  withoutToken,
  type TokenRequests,
  type TokenSession,
} from './token-requests.ts';
import type { AnsweredContext } from './answers/event-answer.ts';

/** `apiKey` is set once the bearer token is checked, `session` for a request with a session's token instead. */
type AppEnvironment = { Bindings: HttpBindings; Variables: { apiKey: ApiKeyIdentity; session?: () => TokenSession } };
type App = Hono<AppEnvironment>;
type AppContext = Context<AppEnvironment>;

/** Finds the caller of a request and its project. */
export type Callers = {
  /** The API key of a bearer token; `undefined` if the token may not use the service. */
  identify(token: string): ApiKeyIdentity | undefined;
  /**
   * The project of a request. Throws `project_not_found`, and `forbidden` if the key may not use the `chosen` project.
   */
  projectOf(apiKey: ApiKeyIdentity, chosen: string | undefined): string;
};

export type AppOptions<T extends OperationTree> = {
  contract: T;
  handlers: HandlerTree<T>;
  callers: Callers;
  /**
   * The API key of a person who signed in with a cookie. Throws `forbidden` for a request that another site may have
   * sent.
   */
  signedIn?: ((incoming: IncomingMessage) => ApiKeyIdentity | undefined) | undefined;
  clock: Clock;
  /** Gets an entry for each request that failed because of the service. */
  log?: Log;
  /** Default: loopback addresses. */
  addresses?: Addresses;
  /** Gets the caller and the operation of each request, for its audit record. */
  auditor?: { noteCaller(context: AppContext): void; releaseContext(context: AppContext): void };
  /** Answers requests that other services must answer, before their query and body are read. */
  forward?: ((operation: Operation, request: ForwardedRequest) => Promise<void> | undefined) | undefined;
  /** Called after the answer to each call that acts in a session. */
  called?: (call: SessionCall) => void;
  /** Answers requests below a session's `base_url`, which have its token. Default: there are none. */
  tokenRequests?: TokenRequests;
  /** The OpenAPI document. It needs no bearer token. */
  openapi: () => Promise<unknown>;
  /** Throws the reason why the service can't hand out browsers. Returns facts for the answer. */
  checkReadiness?: () => Promise<object>;
  /** The largest request body in bytes. */
  bodyLimit?: number;
  /** The budgets of bytes that wait in memory. Default: budgets of this app alone. */
  waitingBytes?: WaitingBytes;
  /** The HTML views. Their links carry tokens of their own. */
  pages?: Hono<{ Bindings: HttpBindings }>;
  /** Runs a traced request in a span. `parent` is its `traceparent`. */
  span?: (<T>(name: string, parent: string, act: () => Promise<T>) => Promise<T>) | undefined;
  /** Registers a process as a user of the service. Returns false if the service is about to end. */
  addUser?: (pid: number) => boolean;
};

/** A call that acted in a session. `operation` is its dotted name. */
export type SessionCall = {
  sessionId: string;
  operation: string;
  requestId: string;
  status: number;
  durationMs: number;
};

/** A request that nothing has read yet. */
export type ForwardedRequest = {
  caller: Caller;
  params: Record<string, string>;
  /** The path and query of the operation. Default: those of the request. */
  url?: string;
  incoming: IncomingMessage;
  outgoing: ServerResponse;
};

export const metricsPath = '/metrics';

/** Load balancers request these paths, without an API key. */
export const healthPaths = { alive: '/healthz', ready: '/readyz' } as const;

/** Creates the HTTP app of the service: it checks and parses requests, calls the operations' handlers, and answers. */
export function createApp<T extends OperationTree>(options: AppOptions<T>): App {
  const app: App = new Hono();
  app.onError((error, context) => answerError(error, requestOf(context), options.log));
  app.notFound((context) =>
    answerError(new OperationError('not_found', `this service has no route ${context.req.path}`), requestOf(context)),
  );

  const { auditor } = options;
  if (auditor) {
    app.use((context, next) => {
      auditor.noteCaller(context);
      return next();
    });
  }
  if (options.pages) app.route('/', options.pages);
  const hangUps = new HangUps();
  const { addresses = new Addresses(), waitingBytes = new WaitingBytes() } = options;
  const common = { ...options, hangUps, addresses, waitingBytes };
  if (options.tokenRequests) serveTokens(app, options.tokenRequests, common);
  app.all(`${browserPath}/*`, (context) => {
    const request = `${context.req.method} ${context.req.path}`;
    throw new OperationError('not_implemented', `this service does not support ${request} below base_url`);
  });
  app.get('/openapi.json', async (context) => context.json(await options.openapi()));
  app.get(healthPaths.alive, (context) => context.json({ status: 'ok' }));
  app.get(healthPaths.ready, async (context) => {
    return context.json({ status: 'ready', ...(await options.checkReadiness?.()) });
  });
  const register = (name: string, operation: Operation) => {
    const handler = handlerAt(options.handlers, name);
    app.on(operation.method, honoPath(operation.path), (context) => {
      if (actsInSession(operation)) tell(options.called, name, context);
      if ('deprecated' in operation) announceRemoval(context, operation as DeprecatedOperation, options.clock);
      const parent = context.req.header('traceparent');
      const isTraced = options.span !== undefined && parent !== undefined;
      const answer = () => run(context, operation, handler, { ...common, isTraced });
      return isTraced ? options.span!(name, parent, answer) : answer();
    });
  };
  const operations = [...operationsOf(options.contract)];
  for (const [name, operation] of operations) if (operation.scope === 'none') register(name, operation);
  app.use((context, next) => {
    const token = bearerToken(context.env.incoming);
    const apiKey = token === undefined ? options.signedIn?.(context.env.incoming) : options.callers.identify(token);
    if (!apiKey) {
      throw new OperationError(
        'unauthorized',
        token === undefined
          ? 'the request has no API key: send it in the header "Authorization: Bearer KEY"'
          : "the service doesn't know this API key",
      );
    }
    context.set('apiKey', apiKey);
    const request = `${context.req.method} ${context.req.path}`;
    if (apiKey.only && !apiKey.only.includes(request))
      throw new OperationError('forbidden', `this token may only send ${apiKey.only.join(' and ')}`);
    return next();
  });
  for (const [name, operation] of operations) if (operation.scope !== 'none') register(name, operation);
  const { addUser } = options;
  if (addUser) app.post('/users', (context) => registerUser(context, addUser));
  refuseOtherMethods(app);
  return app;
}

/** Serves the operations of a session below `base_url`, for the holder of its token. */
function serveTokens(
  app: App,
  requests: TokenRequests,
  options: RunOptions & Pick<AppOptions<OperationTree>, 'contract' | 'handlers' | 'called'>,
): void {
  app.use(`${browserPath}/*`, async (context, next) => {
    const { url } = context.req;
    // Looked up again when the body has arrived: the session may have another holder then.
    const session = () => sessionOf(requests, url);
    session();
    context.set('session', session);
    await next();
  });
  app.all(rawPath, async (context) => {
    const { incoming, outgoing } = context.env;
    const search = new URL(context.req.url).searchParams;
    const signal = options.hangUps.signalOf(incoming, outgoing);
    const session = sessionOf(requests, context.req.url);
    const waiting = claimOnce(options.waitingBytes, session.projectId, session.id, outgoing);
    await requests.raw(session, { incoming, outgoing, search, signal, waiting });
    return RESPONSE_ALREADY_SENT;
  });
  for (const [name, operation] of operationsOf(options.contract)) {
    if (!actsInSession(operation)) continue;
    const handler = handlerAt(options.handlers, name);
    app.on(operation.method, honoPath(tokenPath(operation)), (context) => {
      tell(options.called, name, context);
      return run(context, operation, handler, options);
    });
  }
}

/** Reports a call that acts in a session, after its answer. */
function tell(called: AppOptions<OperationTree>['called'], operation: string, context: AppContext): void {
  if (!called) return;
  const { outgoing } = context.env;
  const sessionId = context.get('session')?.().id ?? context.req.param('id') ?? '';
  const startedAt = performance.now();
  outgoing.once('close', () => {
    const requestId = String(outgoing.getHeader('x-request-id'));
    const durationMs = Math.round(performance.now() - startedAt);
    called({ sessionId, operation, requestId, status: outgoing.statusCode, durationMs });
  });
}

type RunOptions = Pick<AppOptions<OperationTree>, 'callers' | 'bodyLimit' | 'forward' | 'auditor' | 'log'> & {
  hangUps: HangUps;
  addresses: Addresses;
  waitingBytes: WaitingBytes;
  /** Whether a span lasts as long as the request. */
  isTraced?: boolean;
};

async function run(
  context: AppContext,
  operation: Operation,
  handler: Handler<Operation>,
  options: RunOptions,
): Promise<Response> {
  const { callers, bodyLimit, forward, auditor, log, hangUps, addresses, waitingBytes, isTraced = false } = options;
  const { incoming, outgoing } = context.env;
  const session = context.get('session')?.();
  const params = { ...context.req.param(), ...(session && { id: session.id }) };
  // A caller without the right gets its answer before it sends a body.
  const caller = callerOf(context, operation, callers);
  const url = session && { url: withoutToken(context.req.url, session.id) };
  const forwarded = forward?.(operation, { caller, params, ...url, incoming, outgoing });
  if (forwarded) {
    await noteFailure(() => forwarded, operation, outgoing);
    return RESPONSE_ALREADY_SENT;
  }
  const query = readQuery(operation, new URL(context.req.url).searchParams);
  const sessionId = actsInSession(operation) ? params.id : undefined;
  const waiting = claimOnce(waitingBytes, caller.projectId, sessionId, outgoing);
  const body = await readBody(operation, incoming, bodyLimit, waiting);
  const input = {
    // The project may have been deleted while the body came.
    caller: callerOf(context, operation, callers),
    params,
    query,
    body,
    waiting,
    lastEventId: context.req.header('last-event-id'),
    signal: hangUps.signalOf(incoming, outgoing),
    origin: addresses.originOf(incoming),
  };
  if (operation.waits && !isTraced) {
    auditor?.releaseContext(context);
    const failed = errorAnswerer(requestOf(context), operation, log);
    answerLate(operation, handler(input as HandlerInput<Operation>), { outgoing, failed });
    return RESPONSE_ALREADY_SENT;
  }
  const page = query as { limit: number; offset: number } | undefined;
  const answer = async () =>
    toAnswer(context, operation, await handler(input as HandlerInput<Operation>), page, waiting);
  return (await noteFailure(answer, operation, outgoing)) as Response;
}

/** Begins to count the waiting bytes of a request when it is first called. Ends when the answer is sent. */
function claimOnce(
  waitingBytes: WaitingBytes,
  projectId: string,
  sessionId: string | undefined,
  outgoing: ServerResponse,
): () => Claim {
  let claim: Claim | undefined;
  return () => {
    if (claim) return claim;
    const begun = (claim = waitingBytes.claim({ projectId, sessionId }));
    if (outgoing.closed) begun.end();
    else outgoing.once('close', () => begun.end());
    return begun;
  };
}

/** The caller of an operation that needs no key. */
const nobody: ApiKeyIdentity = { id: '', name: '', email: '', projectId: undefined, isOfApp: false };

/**
 * Throws `forbidden` if a project's key asks for an operation of the organization, and everything that `projectOf`
 * throws.
 */
function callerOf(context: AppContext, { scope }: Operation, callers: Callers): Caller {
  const session = context.get('session')?.();
  if (session) return { apiKey: holderOf(session), projectId: session.projectId };
  const apiKey = scope === 'none' ? nobody : context.get('apiKey');
  if (scope === 'organization' && apiKey.projectId !== undefined) {
    throw new OperationError(
      'forbidden',
      "this acts on the whole organization and needs an organization key, not a project's",
    );
  }
  const chosen = scope === undefined ? context.req.header('x-kernel-project-id')?.trim() : undefined;
  return { apiKey, projectId: callers.projectOf(apiKey, chosen || undefined) };
}

function requestOf(context: AppContext): FailedRequest {
  const { method, path } = context.req;
  const { incoming, outgoing } = context.env;
  return { incoming, outgoing, method, path, hasKey: context.get('apiKey') !== undefined };
}

async function registerUser(context: AppContext, addUser: (pid: number) => boolean): Promise<Response> {
  const { pid } = await readJson(context.env.incoming, z.strictObject({ pid: z.int().positive() }));
  if (!addUser(pid)) throw shuttingDown();
  return new Response(null, { status: 204 });
}

function refuseOtherMethods(app: App): void {
  const methods = new Map<string, string[]>();
  for (const { path, method } of app.routes) {
    if (method !== 'ALL')
      methods.set(path, [...(methods.get(path) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
  }
  for (const [path, allowed] of methods) {
    app.all(path, (context) => {
      context.env.outgoing.setHeader('allow', allowed.join(', '));
      throw new OperationError(
        'method_not_allowed',
        `${context.req.path} accepts ${allowed.join(', ')}, not ${context.req.method}`,
      );
    });
  }
}

/** Finds the handler by its operation's dotted name. A former path has the handler of its replacement. */
function handlerAt(handlers: object, name: string): Handler<Operation> {
  const keys = name.split('.').filter((key) => key !== 'deprecated');
  const handler = keys.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], handlers);
  return handler as Handler<Operation>;
}

function honoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/**
 * Adds the headers of a deprecated path: deprecation date (RFC 9745), removal date (RFC 8594) and replacement (RFC
 * 5829). Throws `gone` from the removal date on.
 */
function announceRemoval(
  { req, env }: AnsweredContext,
  { deprecated, method }: DeprecatedOperation,
  clock: Clock,
): void {
  const { deprecatedOn, removedOn } = deprecated;
  const replacement = deprecated.replacement.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(req.param(name) ?? ''),
  );
  env.outgoing.setHeader('deprecation', `@${Date.parse(deprecatedOn) / 1000}`);
  env.outgoing.setHeader('sunset', new Date(removedOn).toUTCString());
  env.outgoing.setHeader('link', `<${replacement}>; rel="successor-version"`);
  if (clock.now() >= Date.parse(removedOn)) {
    throw new OperationError('gone', `${method} ${req.path} was removed on ${removedOn}: use ${method} ${replacement}`);
  }
}
