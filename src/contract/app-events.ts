import { z } from 'zod';
import { errorObject } from './error-object.ts';
import { timestamp } from './values.ts';

// The parts that the contracts of apps, deployments and invocations share.

/** The only region of the hosted service's SDK (`@onkernel/sdk`). This service runs apps on its own machine. */
export const region = z.enum(['aws.us-east-1a']);

/** An action that can be invoked. */
export const appAction = z.looseObject({
  name: z.string(),
  input_schema: z.record(z.string(), z.unknown()).nullable().optional(),
  output_schema: z.record(z.string(), z.unknown()).nullable().optional(),
});

const base = { timestamp, message: z.string() };

/** A line that a deployment or one of its invocations wrote. No two lines of a service have the same timestamp. */
export const logEvent = z.looseObject({ ...base, event: z.literal('log') });

/** Sent after a while without other events, so that connections stay open. */
export const heartbeatEvent = z.looseObject({
  ...base,
  event: z.literal('sse_heartbeat'),
  message: z.string().optional(),
});

export const errorEvent = z.looseObject({
  ...base,
  event: z.literal('error'),
  message: z.string().optional(),
  error: errorObject,
});
