import { z } from 'zod';

const part = z.object({ code: z.string(), message: z.string() });

/** The body of an error answer, except that of `netFailure`. */
export const errorObject = part.extend({
  details: z.array(part).optional(),
  inner_error: part.optional(),
  existing_id: z.string().optional().describe('Id of the existing resource that conflicts with the new one'),
});

export type ErrorObject = z.output<typeof errorObject>;

/**
 * The body of a 502 answer, because a request through the browser got no answer. Numbers and names are Chromium's error codes.
 */
export const netFailure = z.strictObject({
  message: z.string(),
  net_error: z.int().optional().describe('For example -105'),
  net_error_name: z.string().optional().describe('For example ERR_NAME_NOT_RESOLVED'),
});

export type NetFailure = z.output<typeof netFailure>;
