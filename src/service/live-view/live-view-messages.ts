import { z } from 'zod';

const fraction = z.number().min(0).max(1);
const distance = z.number().min(-10_000).max(10_000);
const modifiers = z.int().min(0).max(15);

/**
 * Input of a viewer. Points are fractions of the picture's width and height, from its top left corner. `keyCode` is
 * DOM's; `modifiers` and `buttons` are CDP's bits.
 */
export const liveInput = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('mouse'),
    action: z.enum(['move', 'press', 'release']),
    x: fraction,
    y: fraction,
    button: z.enum(['none', 'left', 'middle', 'right', 'back', 'forward']),
    buttons: z.int().min(0).max(31),
    clickCount: z.int().min(0).max(10),
    modifiers,
  }),
  z.strictObject({ type: z.literal('wheel'), x: fraction, y: fraction, deltaX: distance, deltaY: distance, modifiers }),
  z.strictObject({
    type: z.literal('key'),
    action: z.enum(['press', 'release']),
    key: z.string().min(1).max(32),
    code: z.string().max(32),
    keyCode: z.int().min(0).max(255),
    location: z.int().min(0).max(3),
    repeat: z.boolean(),
    modifiers,
  }),
  z.strictObject({ type: z.literal('text'), text: z.string().min(1).max(1_000_000) }),
]);

/** A message of a viewer: input, or the request to end the session. */
export const liveMessage = z.discriminatedUnion('type', [
  ...liveInput.options,
  z.strictObject({ type: z.literal('end') }),
]);

export type LiveInput = z.output<typeof liveInput>;

/** The facts that a viewer sees beside the picture. `test` is the title of the test that uses the session. */
export type LiveViewDetails = {
  session: string;
  pool?: string | undefined;
  test?: string | undefined;
  url?: string | undefined;
};
