import { z } from 'zod';
import { empty, json, octets, operation } from './operation.ts';

const coordinate = z
  .int()
  .min(0, 'coordinates must be non-negative')
  .describe('In pixels of the screen, which pages fill from its top left corner');
const milliseconds = z.int().min(0).max(600_000);

/** A key symbol of X11 or a character, or several joined by plus signs: `Return`, `a`, `Control+Shift+t`. */
const keys = z.string().min(1).max(100);
const holdKeys = z.array(keys).max(20).default([]).describe('Keys that are down during the action');

const button = z.enum(['left', 'right', 'middle', 'back', 'forward']);

const clickMouse = z.strictObject({
  x: coordinate,
  y: coordinate,
  button: button.default('left'),
  click_type: z.enum(['down', 'up', 'click']).default('click'),
  num_clicks: z.int().max(100).default(1).describe('What is below 1 counts as 1; only clicks are repeated'),
  hold_keys: holdKeys,
});

const moveMouse = z.strictObject({
  x: coordinate,
  y: coordinate,
  hold_keys: holdKeys,
  smooth: z.boolean().default(true).describe('Over points on the way instead of in one jump'),
  duration_ms: z.int().min(50).max(5000).optional().describe('How long a smooth move takes; without it as short as the page allows'),
});

const dragMouse = z.strictObject({
  path: z
    .array(z.tuple([coordinate, coordinate]))
    .min(2)
    .max(1000),
  button: button.extract(['left', 'middle', 'right']).default('left'),
  delay: milliseconds.default(0).describe('Pause between pressing the button and moving'),
  steps_per_segment: z.int().min(1).max(1000).default(10).describe('Points on the way between two of the path, unless it is smooth'),
  step_delay_ms: milliseconds.default(50).describe('Pause before each of these points'),
  smooth: z.boolean().default(true),
  duration_ms: z.int().min(50).max(10_000).optional().describe('How long a smooth drag takes; without it as short as the page allows'),
  hold_keys: holdKeys,
});

const ticks = z.int().min(-1000).max(1000).default(0);

const scroll = z
  .strictObject({
    x: coordinate,
    y: coordinate,
    delta_x: ticks.describe('Ticks of the wheel to the right, of 120 pixels each'),
    delta_y: ticks.describe('Ticks of the wheel downwards, of 120 pixels each'),
    hold_keys: holdKeys,
  })
  .refine(({ delta_x, delta_y }) => delta_x !== 0 || delta_y !== 0, 'delta_x and delta_y must not both be 0');

const typeText = z.strictObject({ text: z.string(), delay: milliseconds.default(0).describe('Pause after each key') });

const pressKey = z.strictObject({
  keys: z.array(keys).min(1).max(100),
  duration: milliseconds.default(0).describe('All keys are held together for so long; with 0 each is tapped, one after another'),
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

/** One action of a batch, and what the single actions are made of. */
export type Action = z.output<typeof action>;

const region = z.strictObject({
  x: z.int().min(0, 'region exceeds screen bounds'),
  y: z.int().min(0, 'region exceeds screen bounds'),
  width: z.int().min(1, 'invalid region dimensions'),
  height: z.int().min(1, 'invalid region dimensions'),
});

/** A part of the screen, in pixels. */
export type Region = z.output<typeof region>;

/** What each computer action may answer: no such session, or no page that an action could act on. */
const errors = [404, 409];

export const computer = {
  clickMouse: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/click_mouse',
    summary: 'Move the mouse to a point and click there, or press or release a button',
    body: clickMouse,
    responses: { 200: empty },
    errors,
  }),
  moveMouse: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/move_mouse',
    summary: 'Move the mouse to a point',
    body: moveMouse,
    responses: { 200: empty },
    errors,
  }),
  dragMouse: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/drag_mouse',
    summary: 'Press a button at the first point of a path, move through the others, and release it at the last',
    body: dragMouse,
    responses: { 200: empty },
    errors,
  }),
  scroll: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/scroll',
    summary: 'Move the mouse to a point and turn its wheel there',
    body: scroll,
    responses: { 200: empty },
    errors,
  }),
  typeText: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/type',
    summary: 'Type literal text into what has the focus',
    body: typeText,
    responses: { 200: empty },
    errors,
  }),
  pressKey: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/press_key',
    summary: 'Press keys and combinations of keys',
    body: pressKey,
    responses: { 200: empty },
    errors,
  }),
  setCursorVisibility: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/cursor',
    summary: 'Hide or show the mouse cursor',
    body: setCursor,
    responses: { 200: json(z.looseObject({ ok: z.boolean() })) },
    errors,
  }),
  captureScreenshot: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/screenshot',
    summary: 'Take a picture of the page in view, or of a region of it',
    body: z.strictObject({ region: region.optional() }).prefault({}),
    responses: { 200: octets('image/png') },
    errors,
  }),
  getMousePosition: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/get_mouse_position',
    summary: 'Where the mouse is',
    responses: { 200: json(z.looseObject({ x: z.int(), y: z.int() })) },
    errors,
  }),
  readClipboard: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/clipboard/read',
    summary: 'Read the text of the clipboard; empty when there is none',
    responses: { 200: json(z.looseObject({ text: z.string() })) },
    errors,
  }),
  writeClipboard: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/clipboard/write',
    summary: 'Set the text of the clipboard',
    body: z.strictObject({ text: z.string() }),
    responses: { 200: empty },
    errors,
  }),
  batch: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/batch',
    summary: 'Do several actions, in order, with nothing in between; the first that fails is the last',
    body: z.strictObject({ actions: z.array(action).min(1).max(100) }),
    responses: { 200: empty },
    errors,
  }),
};
