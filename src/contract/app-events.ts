import { z } from 'zod';
import { errorObject } from './error-object.ts';
import { timestamp } from './values.ts';

/** The only region there is. */
export const region = z.enum(['aws.us-east-1a']);

/** What can be invoked. */
export const appAction = z.looseObject({
  name: z.string(),
  input_schema: z.record(z.string(), z.unknown()).nullable().optional(),
  output_schema: z.record(z.string(), z.unknown()).nullable().optional(),
});

const said = { timestamp, message: z.string() };

/** A line that a deployment or one of its invocations wrote. No two lines of a service have the same timestamp. */
export const logEvent = z.looseObject({ ...said, event: z.literal('log') });

/** Says that the stream is still open, while nothing else is to be said. */
export const heartbeatEvent = z.looseObject({ ...said, event: z.literal('sse_heartbeat'), message: z.string().optional() });

export const errorEvent = z.looseObject({ ...said, event: z.literal('error'), message: z.string().optional(), error: errorObject });
