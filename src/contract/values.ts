import { z } from 'zod';

/** Names of sessions, pools and profiles. */
export const name = z.string().regex(/^[a-zA-Z0-9._-]{1,255}$/, 'must be 1 to 255 letters, digits, dots, underscores or hyphens');

/** As `name`, and the empty string, which stands for "no name" on updates. */
export const nameOrEmpty = z.literal('').or(name);

/** What people call projects, API keys, credentials, credential providers and proxies. */
export const label = z
  .string()
  .refine((text) => text !== '' && Array.from(text).length <= 255, 'must have 1 to 255 characters')
  .refine((text) => !text.includes('\0'), 'must not contain a NUL character');

export const timestamp = z.iso.datetime();

export const httpUrl = z
  .string()
  // To read the name of a host can take the square of its length.
  .max(2048, { abort: true })
  .check(z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }));

/** The host of a web site, with its port where that is not the usual one. */
export const domain = z
  .string()
  .max(260, { abort: true })
  .refine(
    (text) => hostName.test(text) && URL.canParse(`https://${text}`),
    'must be a domain such as example.com, or with a port localhost:3000',
  )
  .overwrite(asHost);

/** As browsers write it: in lower case, other letters than Latin ones encoded, and without the port 443. */
export function asHost(text: string): string {
  return URL.canParse(`https://${text}`) ? new URL(`https://${text}`).host : text;
}

/** A host's name, with or without a port. */
export const hostName = /^[\p{L}\p{M}\p{N}_](?:[\p{L}\p{M}\p{N}._-]*[\p{L}\p{M}\p{N}])?(?::\d{1,5})?$/u;

const tagCharacters = /^[A-Za-z0-9 _.:/=+@-]*$/;

export const tags = z
  .record(z.string().min(1).max(128).regex(tagCharacters), z.string().max(256).regex(tagCharacters))
  .refine((value) => Object.keys(value).length <= 50, 'must have at most 50 entries');

/** `refresh_rate` in Hz; without it the service chooses one. */
export const viewport = z.strictObject({
  width: z.int().min(1).max(10_000),
  height: z.int().min(1).max(10_000),
  refresh_rate: z.int().min(1).optional(),
});

/** Either an id or a name. */
export const profileSelector = z.strictObject({
  id: z.string().optional(),
  name: z.string().optional(),
  save_changes: z.boolean().optional().describe('Save the profile when the session ends. Default: false'),
});

export const extensionSelector = z.strictObject({ id: z.string().optional(), name: z.string().optional() });

/** Seconds without activity until a session ends. */
export const idleTimeout = z.int().min(10).max(259_200);

const captured = z.strictObject({ enabled: z.boolean().optional() });

export const telemetryRequest = z
  .strictObject({
    enabled: z.boolean().optional(),
    browser: z
      .strictObject(
        Object.fromEntries(
          ['console', 'page', 'interaction', 'network', 'control', 'connection', 'system', 'screenshot', 'captcha'].map((key) => [
            key,
            captured.optional(),
          ]),
        ),
      )
      .optional(),
  })
  .nullable();

/** A path in the session's file system. */
export const absolutePath = z
  .string()
  .regex(/^\//, 'must be an absolute path')
  .refine((path) => !path.includes('\0'), 'must not contain a NUL character');
