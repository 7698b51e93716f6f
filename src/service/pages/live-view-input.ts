import { z } from 'zod';

const fraction = z.number().min(0).max(1);
const distance = z.number().min(-10_000).max(10_000);
const modifiers = z.int().min(0).max(15);

/** What the live view's page sends for what its viewer does. Points are fractions of the picture's width and height. */
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

export type LiveInput = z.output<typeof liveInput>;
