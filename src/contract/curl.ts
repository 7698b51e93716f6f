import { z } from 'zod';
import { json, operation } from './operation.ts';

/** The headers of a request. Values can't have line breaks, which would begin another header. */
const headers = z.record(
  z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/, 'must be the name of a header'),
  z
    .string()
    .max(65_536)
    .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be the value of a header, without line breaks'),
);

/** Limits the host to 1024 characters, because parsing takes time quadratic in its length. */
const url = z
  .string()
  .max(65_536, { abort: true })
  .regex(/^https?:\/\/[^/?#\\]{1,1024}([/?#\\]|$)/i, { error: 'must be an http or https URL', abort: true })
  .refine((text) => URL.canParse(text), 'must be an http or https URL');

/** The HTTP methods of requests through a session's browser. */
export const curlMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Limits and default of a request's timeout, in milliseconds. */
export const curlTimeout = { shortest: 1000, longest: 60_000, usual: 30_000 } as const;

/** A request that a session's browser sends, without its body. */
export const curlTarget = z.strictObject({
  url,
  method: z.enum(curlMethods).default('GET'),
  headers: headers
    .refine((given) => Object.keys(given).length <= 200, 'must have at most 200 headers')
    .default({})
    .describe("Replace the browser's own headers of the same names"),
  timeout_ms: z.int().min(curlTimeout.shortest).max(curlTimeout.longest).default(curlTimeout.usual),
});

export type CurlTarget = z.output<typeof curlTarget>;

const answer = z.looseObject({
  status: z.int(),
  headers: z.record(z.string(), z.array(z.string())),
  body: z.string(),
  duration_ms: z.int(),
});

/** The operation that sends a request through a session's browser. */
export const curl = operation(
  'POST /browsers/{id}/curl',
  "Send a request through the browser's network stack, with its cookies and proxy; follows redirects. An error status of the target is a success. Bodies have at most 10 MiB",
  {
    body: curlTarget.extend({
      body: z.string().optional(),
      response_encoding: z.enum(['utf8', 'base64']).default('utf8'),
    }),
    responses: { 200: json(answer) },
    errors: [429, 502],
  },
);
