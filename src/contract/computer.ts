import { z } from 'zod';
import { empty, json, operation } from './operation.ts';

const coordinate = z.int().min(0);

/** What each computer action may answer: no such session, or a session without a page to act on. */
const errors = [404, 409];

export const computer = {
  moveMouse: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/move_mouse',
    summary: 'Move the mouse to screen coordinates in pixels',
    body: z.strictObject({
      x: coordinate,
      y: coordinate,
      hold_keys: z.array(z.string()).default([]),
      smooth: z.boolean().default(true),
      duration_ms: z.int().min(50).max(5000).optional().describe('Length of a smooth move'),
    }),
    responses: { 200: empty },
    errors,
  }),
  typeText: operation({
    method: 'POST',
    path: '/browsers/{id}/computer/type',
    summary: 'Type literal text into what has the focus',
    body: z.strictObject({ text: z.string(), delay: z.int().min(0).default(0).describe('Milliseconds between keys') }),
    responses: { 200: empty },
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
};
