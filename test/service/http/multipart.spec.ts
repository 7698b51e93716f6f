import { EventEmitter, once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import * as fc from 'fast-check';
import { z } from 'zod';
import { OperationError } from '../../../src/contract/errors.ts';
import { multipart } from '../../../src/contract/operation.ts';
import { filePart } from '../../../src/contract/values.ts';
import { multipartBody } from '../../../src/service/http/requests/multipart.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { contentType, encoded, type Part } from '../../support/service/uploads.ts';
import { expect, test } from '../../support/worker.ts';

const body = multipart(
  z.strictObject({
    files: z.array(z.strictObject({ dest_path: z.string(), file: filePart })).optional(),
    env_vars: z.record(z.string(), z.string()).optional(),
    force: z.stringbool().default(false),
    source: filePart.optional(),
  }),
  { plain: 'files' },
);

/** The parsed form, with files as text. `sizes` are the sizes of the pieces in which it arrives. */
async function received(bytes: Uint8Array, size = 64 * 1024): Promise<unknown> {
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
  const form = multipartBody(body, Readable.from(pieces), { 'content-type': contentType });
  return await form.receive(async (file) => (await buffer(file)).toString());
}

test('parses lists, maps and texts of a form from pieces of any size', async () => {
  const form = encoded([
    ['files[10][dest_path]', 'ten'],
    ['files[10][file]', '10', 'file'],
    ['files[9].dest_path', 'nine'],
    ['files.9.file', '\r\n--cu\r\n', 'file'],
    ['env_vars[A.B]', 'x=y'],
    ['force', 'true'],
    ['source', 'x'.repeat(1000), 'file'],
  ]);
  for (const size of [1, 2, 3, 7, 100, form.length]) {
    expect(await received(form, size)).toEqual({
      files: [{ dest_path: 'nine', file: '\r\n--cu\r\n' }, { dest_path: 'ten', file: '10' }], // prettier-ignore
      env_vars: { 'A.B': 'x=y' },
      force: true,
      source: 'x'.repeat(1000),
    });
  }
});

test('ignores bytes after the end of a form', async () => {
  const form = encoded([['source', 'x', 'file']]);
  expect(await received(Buffer.concat([Buffer.from('--cut--'), form]))).toEqual({ force: false });
  expect(await received(Buffer.concat([form, form]), 10)).toEqual({ force: false, source: 'x' });
});

test('limits the total size of all texts in a form', async () => {
  const parts = Array.from({ length: 9 }, (_, index): Part => [`env_vars[${index}]`, 'x'.repeat(1024 * 1024)]);
  await expect(received(encoded(parts))).rejects.toMatchObject({ code: 'payload_too_large' });
  await expect(received(encoded([['env_vars[a]', 'x'.repeat(9 * 1024 * 1024)]]))).rejects.toMatchObject({
    code: 'payload_too_large',
  });
});

test('limits the total size of all names in a form, also of ignored parts', async () => {
  const parts = Array.from({ length: 120 }, (_, index): Part => [`${index}${'x'.repeat(75_000)}`, '']);
  const form = multipartBody(body, Readable.from([encoded(parts)]), { 'content-type': contentType }, { isOpen: true });
  await expect(form.receive(buffer)).rejects.toMatchObject({ code: 'payload_too_large' });
});

test("stops reading a form when a file can't be stored, and stores no other file", async () => {
  const stored: string[] = [];
  const endless = Readable.from(
    (function* () {
      yield encoded([['source', 'x', 'file'], ['files[0][file]', 'y', 'file']]).subarray(0, -8); // prettier-ignore
      for (;;) yield Buffer.alloc(64 * 1024);
    })(),
  );
  const form = multipartBody(body, endless, { 'content-type': contentType });
  const storing = form.receive(async (file) => {
    stored.push('one');
    for await (const _ of file) throw new OperationError('insufficient_storage', 'full');
  });
  await expect(storing).rejects.toMatchObject({ code: 'insufficient_storage' });
  expect(stored).toEqual(['one']);
  expect(endless.destroyed).toBe(false);
});

test('refuses a form that breaks off', async () => {
  const gone = new Readable({ read() {} }).once('error', () => {}).destroy(new Error('aborted'));
  const form = multipartBody(body, gone, { 'content-type': contentType });
  await expect(form.receive(async () => {})).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('broke off'),
  });
});

test('stores each file of a form before it reads further', async () => {
  let sent = 0;
  const form = Readable.from(
    (function* () {
      yield encoded([['source', '', 'file']]).subarray(0, -11);
      for (sent = 0; sent < 100; sent += 1) yield Buffer.alloc(64 * 1024);
      yield Buffer.from('\r\n--cut--\r\n');
    })(),
  );
  const free = new EventEmitter();
  const receiving = multipartBody(body, form, { 'content-type': contentType }).receive(async (file) => {
    await once(free, 'go');
    return (await buffer(file)).length;
  });
  await expect.poll(() => sent).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(sent).toBeLessThan(10);
  free.emit('go');
  expect(await receiving).toMatchObject({ source: 100 * 64 * 1024 });
});

test('parses or refuses any bytes as a form, and never crashes', async () => {
  const form = encoded([
    ['dest_path', '/a'],
    ['file', 'content', 'file'],
    ['env_vars[a]', 'b'],
    ['source', 'x'.repeat(200), 'file'],
  ]);
  const damage = fc.record({ at: fc.nat(form.length), cut: fc.nat(20), insert: fc.oneof(fc.uint8Array({ maxLength: 10 }), fc.constantFrom('\r\n', '--cut', '\r\n--cut\r\n', '\r\n\r\n', '"', ';', '[').map((text) => Buffer.from(text))) }); // prettier-ignore
  await fc.assert(
    fc.asyncProperty(
      fc.array(damage, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 600 }),
      async (damages, size) => {
        let bytes: Uint8Array = form;
        for (const { at, cut, insert } of damages)
          bytes = Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(at + cut)]);
        const outcome = await received(bytes, size).catch((error: unknown) => error);
        if (outcome instanceof Error) expect(outcome).toMatchObject({ name: 'OperationError', code: 'bad_request' });
      },
    ),
    { numRuns: isLong ? 300 : 60, timeout: 5000 },
  );
});
