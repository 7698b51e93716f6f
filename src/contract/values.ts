import { z } from 'zod';
import type { FilePart, Operation } from './operation.ts';

/** Names of sessions, pools and profiles. */
export const name = z
  .string()
  .regex(/^[a-zA-Z0-9._-]{1,255}$/, 'must be 1 to 255 letters, digits, dots, underscores or hyphens');

/** A `name`, or on updates the empty string for "no name". */
export const nameOrEmpty = z.literal('').or(name);

/** Names of projects, API keys, credentials, credential providers and proxies. */
export const label = z
  .string()
  .refine((text) => text !== '' && Array.from(text).length <= 255, 'must have 1 to 255 characters')
  .refine((text) => !text.includes('\0'), 'must not contain a NUL character');

export const timestamp = z.iso.datetime();

export const httpUrl = z
  .string()
  // Parsing a host name takes time quadratic in its length.
  .max(2048, { abort: true })
  .check(z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }));

/** The host of a web site, with its port if that is not the default. */
export const domain = z
  .string()
  .max(260, { abort: true })
  .refine(
    (text) => hostName.test(text) && URL.canParse(`https://${text}`),
    'must be a domain such as example.com or localhost:3000',
  )
  .overwrite(asHost);

/** Writes a host as browsers do: in lower case, in Punycode, and without the port 443. */
export function asHost(text: string): string {
  return URL.canParse(`https://${text}`) ? new URL(`https://${text}`).host : text;
}

/** Matches a host name, with or without a port. */
export const hostName = /^[\p{L}\p{M}\p{N}_](?:[\p{L}\p{M}\p{N}._-]*[\p{L}\p{M}\p{N}])?(?::\d{1,5})?$/u;

const tagCharacters = /^[A-Za-z0-9 _.:/=+@-]*$/;

export const tagValue = z.string().max(256).regex(tagCharacters);

export const tags = z
  .record(z.string().min(1).max(128).regex(tagCharacters), tagValue)
  .refine((value) => Object.keys(value).length <= 50, 'must have at most 50 entries');

/** The size of a browser's window in pixels. `refresh_rate` is in Hz. Default: the service chooses it. */
export const viewport = z.strictObject({
  width: z.int().min(1).max(10_000),
  height: z.int().min(1).max(10_000),
  refresh_rate: z.int().min(1).optional(),
});

/** Either an id or a name. */
export const profileSelector = z.strictObject({
  id: z.string().optional(),
  name: z.string().optional(),
  save_changes: z.boolean().optional().describe('Save the profile when the session ends. Default: false'),
});

export const extensionSelector = z.strictObject({ id: z.string().optional(), name: z.string().optional() });

/** Switches for Chromium's command line, beside those of the service. */
export const chromiumArgs = z
  .array(
    z
      .string()
      .max(2048)
      .regex(/^--[A-Za-z0-9][A-Za-z0-9_-]*(=[^\0]*)?$/, 'must be a switch of Chromium such as --site-per-process'),
  )
  .max(50)
  .describe("Extra switches for Chromium, such as --site-per-process (this service's own field)");

/** Playwright's `launchOptions`, with its `channel` and `headless`. Other fields are ignored. */
export const launchOptions = z
  .looseObject({
    args: z
      .array(
        z
          .string()
          .max(2048)
          .regex(/^[^\0]*$/, 'must not contain a NUL character'),
      )
      .max(50)
      .optional(),
    channel: z.string().max(64).optional(),
    headless: z.boolean().optional(),
    ignoreDefaultArgs: z.union([z.boolean(), z.array(z.string())]).optional(),
    proxy: z
      .looseObject({
        server: z.string().max(2048),
        bypass: z.string().max(8192).optional(),
        username: z.string().max(255).optional(),
        password: z.string().max(1024).optional(),
      })
      .optional(),
  })
  .describe("Launch options of Playwright (this service's own field, see docs/connect.md)");

export type LaunchOptions = z.output<typeof launchOptions>;

export const engine = z
  .enum(['chromium', 'firefox', 'webkit'])
  .describe("The kind of browser; default: chromium (this service's own field, see docs/engines.md)");

export type Engine = z.output<typeof engine>;

export const playwrightVersion = z
  .string()
  .max(64)
  .describe("The client's version of Playwright, which launches Firefox and WebKit (this service's own field)");

export const tunnel = z
  .boolean()
  .describe(
    "Whether pages of the default context can use a tunnel, as those of other contexts always can (this service's own field)",
  );

/** Seconds without activity until a session ends. */
export const idleTimeout = z.int().min(10).max(259_200);

export const telemetryCategories = [
  'console',
  'page',
  'interaction',
  'network',
  'control',
  'connection',
  'system',
  'screenshot',
  'captcha',
] as const;

const captured = z.strictObject({ enabled: z.boolean().optional() });

export const telemetryRequest = z
  .strictObject({
    enabled: z.boolean().optional(),
    browser: z
      .strictObject(Object.fromEntries(telemetryCategories.map((key) => [key, captured.optional()])))
      .optional(),
  })
  .nullable();

/** A path in the session's file system. */
export const absolutePath = z
  .string()
  .regex(/^\//, 'must be an absolute path')
  .refine((path) => !path.includes('\0'), 'must not contain a NUL character');

/** A field that the contract doesn't have: its path in the body, and the names of the fields that may be there. */
type UnknownField = { path: string; known: string[] };

/** Finds the first unknown field of a JSON body or a form. */
export function unknownField({ body }: Operation, fields: unknown): UnknownField | undefined {
  // A form with `plain` allows names that aren't in its schema, so it can't be checked.
  if (!body || 'plain' in body) return undefined;
  const schema = 'schema' in body ? body.schema : body;
  if (!(schema instanceof z.ZodType)) return undefined;
  const issues = schema.safeParse(fields).error?.issues ?? [];
  const unknown = issues.find((issue) => issue.code === 'unrecognized_keys');
  return unknown && { path: [...unknown.path, unknown.keys[0]!].join('.'), known: fieldNames(schema, unknown.path) };
}

/** The names of the fields at a path. */
function fieldNames(schema: z.ZodType, path: PropertyKey[]): string[] {
  const described = path.reduce<z.core.JSONSchema.BaseSchema | undefined>(
    (node, key) => (node?.properties?.[String(key)] ?? node?.items) as z.core.JSONSchema.BaseSchema | undefined,
    z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
  );
  return Object.keys(described?.properties ?? {});
}

/** Accepts any value: the client and the service check that it is a file. */
export const filePart = z
  .custom<FilePart>((value) => value !== undefined, 'must be a file')
  .meta({ type: 'string', format: 'binary' });

/** A form field that the hosted service's SDK (`@onkernel/sdk`) can send, but this service refuses with 501. */
export const unsupportedField = z.never().optional();

/** An integer in a query string. */
export function queryInteger() {
  return z.coerce.number<number | string>().int();
}

/** `true` or `false` in a query string. */
export function queryBoolean() {
  return z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]);
}

/** The query of lists that are paged by offsets. */
export const pageQuery = z.strictObject({
  limit: queryInteger().min(1).max(100).default(20).describe('Page size'),
  offset: queryInteger().min(0).default(0).describe("Index of the page's first item"),
});
