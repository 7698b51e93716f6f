import { z } from 'zod';
import { empty, json, octets, operation } from './operation.ts';

const coordinate = z
  .int()
  .min(0, 'coordinates must be non-negative')
  .describe('Pixels from the top left corner of the page');
const milliseconds = z.int().min(0).max(600_000);

/** A key by its X11 name or its character, or several keys joined by plus signs: `Return`, `a`, `Control+Shift+t`. */
const keys = z.string().min(1).max(100);
const holdKeys = z.array(keys).max(20).default([]).describe('Keys to hold down during the action');

const button = z.enum(['left', 'right', 'middle', 'back', 'forward']);

const clickMouse = z.strictObject({
  x: coordinate,
  y: coordinate,
  button: button.default('left'),
  click_type: z.enum(['down', 'up', 'click']).default('click'),
  num_clicks: z.int().max(100).default(1).describe('Values below 1 count as 1; only the type `click` is repeated'),
  hold_keys: holdKeys,
});

const moveMouse = z.strictObject({
  x: coordinate,
  y: coordinate,
  hold_keys: holdKeys,
  smooth: z.boolean().default(true).describe('Move through points on the way instead of in one jump'),
  duration_ms: z
    .int()
    .min(50)
    .max(5000)
    .optional()
    .describe('Duration of a smooth move. Default: as short as the page allows'),
});

const dragMouse = z.strictObject({
  path: z
    .array(z.tuple([coordinate, coordinate]))
    .min(2)
    .max(1000),
  button: button.extract(['left', 'middle', 'right']).default('left'),
  delay: milliseconds.default(0).describe('Pause between pressing the button and moving, in milliseconds'),
  steps_per_segment: z
    .int()
    .min(1)
    .max(1000)
    .default(10)
    .describe('Points between two points of the path; ignored if `smooth` is set'),
  step_delay_ms: milliseconds.default(50).describe('Pause before each of these points, in milliseconds'),
  smooth: z.boolean().default(true),
  duration_ms: z
    .int()
    .min(50)
    .max(10_000)
    .optional()
    .describe('Duration of a smooth drag. Default: as short as the page allows'),
  hold_keys: holdKeys,
});

const ticks = z.int().min(-1000).max(1000).default(0);

const scroll = z
  .strictObject({
    x: coordinate,
    y: coordinate,
    delta_x: ticks.describe('Ticks of the wheel to the right; a tick is 120 pixels'),
    delta_y: ticks.describe('Ticks of the wheel downwards; a tick is 120 pixels'),
    hold_keys: holdKeys,
  })
  .refine(({ delta_x, delta_y }) => delta_x !== 0 || delta_y !== 0, 'delta_x and delta_y must not both be 0');

const typeText = z.strictObject({
  text: z.string(),
  delay: milliseconds.default(0).describe('Pause after each key, in milliseconds'),
});

const pressKey = z.strictObject({
  keys: z.array(keys).min(1).max(100),
  duration: milliseconds
    .default(0)
    .describe('Milliseconds for which all keys are held together. 0: the keys are tapped one after another'),
  hold_keys: holdKeys,
});

const setCursor = z.strictObject({ hidden: z.boolean() });

const action = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('click_mouse'), click_mouse: clickMouse }),
  z.strictObject({ type: z.literal('move_mouse'), move_mouse: moveMouse }),
  z.strictObject({ type: z.literal('type_text'), type_text: typeText }),
  z.strictObject({ type: z.literal('press_key'), press_key: pressKey }),
  z.strictObject({ type: z.literal('scroll'), scroll }),
  z.strictObject({ type: z.literal('drag_mouse'), drag_mouse: dragMouse }),
  z.strictObject({ type: z.literal('set_cursor'), set_cursor: setCursor }),
  z.strictObject({ type: z.literal('sleep'), sleep: z.strictObject({ duration_ms: z.int().min(0).max(30_000) }) }),
]);

/** One action of a batch. */
export type Action = z.output<typeof action>;

const region = z.strictObject({
  x: z.int().min(0, 'region exceeds screen bounds'),
  y: z.int().min(0, 'region exceeds screen bounds'),
  width: z.int().min(1, 'invalid region dimensions'),
  height: z.int().min(1, 'invalid region dimensions'),
});

/** A part of the screen, in pixels. */
export type Region = z.output<typeof region>;

/** Answer of most actions. 409: the session has no page to act on. */
const done = { responses: { 200: empty } } as const;

/** The operations that use mouse, keyboard, clipboard and screen of a session, as a person would. */
export const computer = {
  clickMouse: operation(
    'POST /browsers/{id}/computer/click_mouse',
    'Move the mouse to a point and click there, or press or release a button',
    { body: clickMouse, ...done },
  ),
  moveMouse: operation('POST /browsers/{id}/computer/move_mouse', 'Move the mouse to a point', {
    body: moveMouse,
    ...done,
  }),
  dragMouse: operation(
    'POST /browsers/{id}/computer/drag_mouse',
    'Press a button at the first point of a path, move through the others, and release it at the last',
    { body: dragMouse, ...done },
  ),
  scroll: operation('POST /browsers/{id}/computer/scroll', 'Move the mouse to a point and turn its wheel there', {
    body: scroll,
    ...done,
  }),
  typeText: operation('POST /browsers/{id}/computer/type', 'Type text into the focused element', {
    body: typeText,
    ...done,
  }),
  pressKey: operation('POST /browsers/{id}/computer/press_key', 'Press keys and combinations of keys', {
    body: pressKey,
    ...done,
  }),
  setCursorVisibility: operation('POST /browsers/{id}/computer/cursor', 'Hide or show the mouse cursor', {
    body: setCursor,
    responses: { 200: json(z.looseObject({ ok: z.boolean() })) },
  }),
  captureScreenshot: operation(
    'POST /browsers/{id}/computer/screenshot',
    'Take a picture of the page in view, or of a region of it',
    {
      body: z.strictObject({ region: region.optional() }).prefault({}),
      responses: { 200: octets('image/png') },
    },
  ),
  getMousePosition: operation('POST /browsers/{id}/computer/get_mouse_position', 'Get the position of the mouse', {
    responses: { 200: json(z.looseObject({ x: z.int(), y: z.int() })) },
  }),
  readClipboard: operation(
    'POST /browsers/{id}/computer/clipboard/read',
    'Read the text of the clipboard; empty if it has none',
    { responses: { 200: json(z.looseObject({ text: z.string() })) } },
  ),
  writeClipboard: operation('POST /browsers/{id}/computer/clipboard/write', 'Set the text of the clipboard', {
    body: z.strictObject({ text: z.string() }),
    ...done,
  }),
  batch: operation(
    'POST /browsers/{id}/computer/batch',
    'Do several actions in order, without other actions in between; stops at the first failure',
    { body: z.strictObject({ actions: z.array(action).min(1).max(100) }), ...done },
  ),
};
