import { z } from 'zod';

const part = z.object({ code: z.string(), message: z.string() });

/** The body of every error answer. */
export const errorObject = part.extend({
  details: z.array(part).optional(),
  inner_error: part.optional(),
  existing_id: z.string().optional().describe('Id of the existing resource that conflicts with the new one'),
});

export type ErrorObject = z.output<typeof errorObject>;
