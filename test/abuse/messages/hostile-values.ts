import * as fc from 'fast-check';
import { isLong } from '../../support/processes/long-form.ts';

/** The seed of all random values. */
export const seed = Number(process.env['PLAYWRIGHT_POOL_TEST_SEED'] ?? (isLong ? Date.now() % 2 ** 31 : 1));

const injections = ["' OR 1=1 --", '"; DROP TABLE pools; --', '\r\nX-Injected: 1', 'a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'];
const lengths = ['', ' ', '\0', 'a\0b', '*'.repeat(300), 'a'.repeat(256), 'ä'.repeat(5000)];

/** The unit `binary` of fast-check has the same characters, but takes 2 s to make. */
const character = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code));

/** Texts that a careless program misinterprets. */
export const hostileText = fc.oneof(
  fc.constantFrom(
    ...words('.. ../ %2e%2e%2f %252e%252e%252f ..%c0%af \u2024\u2024/ \uff0e\uff0e\uff0f'),
    ...words('\u202etxt.exe \ufeff \ud800 \udfff\ud800 e\u0301 👩‍👩‍👧‍👦 İıſK'),
    ...words('__proto__ constructor toString hasOwnProperty null undefined NaN -1 0x10 1e999'),
    ...words('<script>alert(1)</script> ${7*7} $(reboot) `reboot` (a+)+$'),
    ...words('javascript:alert(1) file:///etc/passwd data:text/html,x http://127.0.0.1:1/ about:blank chrome://crash'),
    ...injections,
    ...lengths,
  ),
  fc.string({ maxLength: 20 }),
  fc.string({ unit: character, maxLength: 20 }),
);

/**
 * Paths, some of which would lead out of a session's file system. `canary` is a host directory that they must not
 * reach.
 */
export function hostilePath(canary: string): fc.Arbitrary<string> {
  const segment = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('tmp', 'home', 'user', 'a', 'b', 'c.txt') },
    { weight: 4, arbitrary: fc.constantFrom('..', '.', '', 'link', 'deep', 'climb', 'loop') },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        ...words('%2e%2e %2e%2e%2f ..%2f.. ..\\ \uff0e\uff0e ... secret \ud800'),
        '.. ',
        'x'.repeat(300),
      ),
    },
    { weight: 1, arbitrary: hostileText },
  );
  const climbed = fc.nat({ max: 20 }).map((levels) => `/${'../'.repeat(levels)}${canary.slice(1)}/secret`);
  return fc.oneof(
    { weight: 10, arbitrary: fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join('/')}`) },
    { weight: 2, arbitrary: climbed },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        `${canary}/secret`,
        ...words('/link/secret /climb/secret /proc/self/environ // /. ~'),
        '',
      ),
    },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 3000 }).map((depth) => '/a'.repeat(depth)) },
  );
}

const integers = [
  0,
  -0,
  -1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 32,
  2 ** 53,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
];
const hostileNumber = fc.constantFrom(0.5, 1e308, -1e308, 5e-324, ...integers);

/** JSON values in a place for another type. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  hostileNumber,
  fc.constantFrom(null, true, false, [], {}, [[]], [null], { '': '' }, { length: 1e9 }),
  fc.integer({ min: 1, max: 2000 }).map(nested),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Damaged forms of a JSON body. */
export function damaged(text: string): fc.Arbitrary<Buffer> {
  const bytes = Buffer.from(text);
  return fc.oneof(
    fc.nat({ max: Math.max(0, bytes.length - 1) }).map((end) => bytes.subarray(0, end)),
    fc.tuple(fc.nat({ max: bytes.length }), fc.uint8Array({ minLength: 1, maxLength: 8 })).map(([at, inserted]) => {
      return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at)]);
    }),
    fc
      .constantFrom(
        ...words('\ufeff { } {}{} [1,] {"a":1,} {"a":1e999} NaN "\\ud800" {"__proto__":{"x":1}} {"a":1,"a":2}'),
        "{'a':1}",
        '// x',
      )
      .map((piece) => Buffer.from(piece)),
    fc.constantFrom('utf16le' as const, 'latin1' as const).map((encoding) => Buffer.from(text, encoding)),
    fc.integer({ min: 1, max: 200_000 }).map((depth) => Buffer.from('['.repeat(depth))),
    fc.integer({ min: 1, max: 200_000 }).map((depth) => Buffer.from('{"a":'.repeat(depth) + '1' + '}'.repeat(depth))),
  );
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

/** The parts of a text between its spaces. */
export function words(text: string): string[] {
  return text.split(' ');
}
