import { createHash } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect } from '@playwright/test';
import { AuditLogDownloadError, ConnectionError, ServiceError } from '../../src/client/index.ts';
import { errorOf, type ScriptedAnswer, test } from './recording-server.ts';

const query = { start: '2026-01-01T00:00:00Z', end: '2026-01-31T00:00:00Z', exclude_method: ['GET', 'HEAD'] };

type Chunk = {
  lines: string[];
  next?: string;
  headers?: Record<string, string>;
  damage?: (body: Buffer) => Buffer;
  plain?: boolean;
};

function chunk({ lines, next, headers, damage = (body) => body, plain = false }: Chunk): ScriptedAnswer {
  const text = Buffer.from(lines.map((line) => `${line}\n`).join(''));
  const body = plain ? text : gzipSync(text);
  return (_, response: ServerResponse) =>
    response
      .writeHead(200, {
        'content-type': 'application/octet-stream',
        'x-content-sha256': createHash('sha256').update(body).digest('hex'),
        'x-row-count': String(lines.length),
        'x-has-more': String(next !== undefined),
        ...(next !== undefined && { 'x-next-cursor': next }),
        ...headers,
      })
      .end(damage(body));
}

const first = { lines: ['{"a":1}', '{"a":2}'], next: 'one' };
const second = { lines: ['{"a":3}'], next: 'two' };
const last = { lines: ['{"a":4}'] };
const all = '{"a":1}\n{"a":2}\n{"a":3}\n{"a":4}\n';

const flipped = (body: Buffer) => {
  const damaged = Buffer.from(body);
  damaged[damaged.length >> 1]! ^= 1;
  return damaged;
};
const breaking: ScriptedAnswer = (_, response: ServerResponse) => {
  response.writeHead(200, { 'content-length': '1000' }).write('some');
  setTimeout(() => response.destroy(), 20);
};
const silent: ScriptedAnswer = (_, response) =>
  void response.writeHead(200, { 'content-length': '1000' }).write('some');
const refused: ScriptedAnswer = { status: 403, json: { code: 'forbidden', message: 'no' } };
const cursors = (urls: { url: string }[]) =>
  urls.map(({ url }) => new URL(url, 'http://service').searchParams.get('cursor'));

test('writes all chunks of the audit log to one file when they are complete', async ({ serve, connect }, testInfo) => {
  const server = await serve(chunk(first), chunk(second), chunk(last));
  const to = testInfo.outputPath('audit.jsonl.gz');
  const seen: unknown[] = [];
  const onProgress = (progress: unknown) => {
    seen.push(progress);
  };
  const done = await connect(server).auditLogs.download(to, query, { onProgress });
  const file = await readFile(to);
  expect(gunzipSync(file).toString()).toBe(all);
  expect(done).toEqual({ bytes: file.length, rows: 4, chunks: 3 });
  expect(seen).toEqual([
    expect.objectContaining({ rows: 2, chunks: 1 }),
    expect.objectContaining({ rows: 3, chunks: 2 }),
    done,
  ]);
  expect(server.calls.map(({ url }) => url)).toEqual(
    ['', '&cursor=one', '&cursor=two'].map(
      (cursor) =>
        `/audit-logs/export/chunk?start=2026-01-01T00%3A00%3A00Z&end=2026-01-31T00%3A00%3A00Z&exclude_method=GET%2CHEAD${cursor}`,
    ),
  );
  expect((await stat(to)).mode & 0o777).toBe(0o600);
  expect(await readdir(testInfo.outputPath())).toEqual(['audit.jsonl.gz']);
});

test('writes uncompressed lines on demand, and accepts an empty chunk', async ({ serve, connect }, testInfo) => {
  const server = await serve(chunk({ ...first, plain: true }), chunk({ lines: [], plain: true }));
  const to = testInfo.outputPath('audit.jsonl');
  expect(await connect(server).auditLogs.download(to, { ...query, format: 'jsonl' })).toEqual({
    bytes: 16,
    rows: 2,
    chunks: 2,
  });
  expect(await readFile(to, 'utf8')).toBe('{"a":1}\n{"a":2}\n');
});

test('fetches a chunk again if it arrives damaged or incomplete', async ({ serve, connect }, testInfo) => {
  const server = await serve(chunk({ ...first, damage: flipped }), chunk(first), breaking, chunk(last));
  const to = testInfo.outputPath('audit.jsonl.gz');
  expect(await connect(server).auditLogs.download(to, query)).toMatchObject({ rows: 3, chunks: 2 });
  expect(cursors(server.calls)).toEqual([null, null, 'one', 'one']);
});

test('resumes an interrupted download after the last complete chunk', async ({ serve, connect }, testInfo) => {
  const to = testInfo.outputPath('audit.jsonl.gz');
  const server = await serve(chunk(first), chunk(second), refused, chunk(last));
  const client = connect(server);
  expect(await errorOf(client.auditLogs.download(to, query))).toBeInstanceOf(ServiceError);
  expect((await readdir(testInfo.outputPath())).toSorted()).toEqual(['audit.jsonl.gz.journal', 'audit.jsonl.gz.part']);
  for (const unfinished of ['part', 'journal']) expect((await stat(`${to}.${unfinished}`)).mode & 0o777).toBe(0o600);
  // The line that a killed process had begun to write.
  await writeFile(`${to}.part`, 'half a chunk', { flag: 'a' });
  await writeFile(`${to}.journal`, '{"bytes":12,', { flag: 'a' });

  const progress: number[] = [];
  const done = await client.auditLogs.download(to, query, { onProgress: ({ chunks }) => progress.push(chunks) });
  expect(done).toMatchObject({ rows: 4, chunks: 3 });
  expect(progress).toEqual([2, 3]);
  expect(cursors(server.calls)).toEqual([null, 'one', 'two', 'two']);
  expect(gunzipSync(await readFile(to)).toString()).toBe(all);
});

const damages: Record<string, (to: string) => Promise<void>> = {
  'downloads chunks again that were damaged on the disk meanwhile': async (to) => {
    const part = await readFile(`${to}.part`);
    part[part.length - 20]! ^= 1;
    await writeFile(`${to}.part`, part);
  },
  'reads the journal of a broken download up to its first damaged line': async (to) => {
    const [source, ofFirst, ofSecond] = (await readFile(`${to}.journal`, 'utf8')).split('\n');
    await writeFile(`${to}.journal`, [source, ofFirst, '\0'.repeat(ofSecond!.length), ''].join('\n'));
  },
};

for (const [title, damage] of Object.entries(damages)) {
  test(title, async ({ serve, connect }, testInfo) => {
    const to = testInfo.outputPath('audit.jsonl.gz');
    const server = await serve(chunk(first), chunk(second), refused, chunk(second), chunk(last));
    const client = connect(server);
    await errorOf(client.auditLogs.download(to, query));
    await damage(to);
    expect(await client.auditLogs.download(to, query)).toMatchObject({ rows: 4, chunks: 3 });
    expect(cursors(server.calls)).toEqual([null, 'one', 'two', 'one', 'two']);
    expect(gunzipSync(await readFile(to)).toString()).toBe(all);
  });
}

test('starts the download again for another query or another service', async ({ serve, connect }, testInfo) => {
  const to = testInfo.outputPath('audit.jsonl.gz');
  const one = await serve(chunk(first), refused, chunk(first), refused);
  const another = await serve(chunk(last));
  await errorOf(connect(one).auditLogs.download(to, query));
  await errorOf(connect(one).auditLogs.download(to, { ...query, method: 'POST' }));
  expect(await connect(another).auditLogs.download(to, { ...query, method: 'POST' })).toMatchObject({
    rows: 1,
    chunks: 1,
  });
  expect(cursors([...one.calls, ...another.calls])).toEqual([null, 'one', null, 'one', null]);
});

test('an abort stops a download anywhere, and keeps whole chunks', async ({ serve, connect }, testInfo) => {
  const to = testInfo.outputPath('audit.jsonl.gz');
  const server = await serve(chunk(first), silent, chunk(last));
  const controller = new AbortController();
  const client = connect(server);
  const download = client.auditLogs.download(to, query, { signal: controller.signal });
  await expect.poll(() => server.calls.length).toBe(2);
  controller.abort(new Error('enough'));
  await expect(download).rejects.toThrow('enough');
  expect(await client.auditLogs.download(to, query)).toMatchObject({ rows: 3, chunks: 2 });
});

const fewerRows = /a part of the download has 1 records, but its header says 2/;
const unclearNext = /does not say correctly where the next one begins/;

for (const [title, headers, problem] of [
  ['fewer rows than the service said', { 'x-row-count': '2' }, fewerRows],
  ['an unreadable x-has-more header', { 'x-has-more': 'maybe' }, unclearNext],
  ['more without a cursor', { 'x-has-more': 'true' }, unclearNext],
  ['a cursor after the end', { 'x-next-cursor': 'x' }, unclearNext],
] as const) {
  test(`refuses an answer with ${title}`, async ({ serve, connect }, testInfo) => {
    const server = await serve(chunk({ ...last, headers }));
    const error = await errorOf(connect(server).auditLogs.download(testInfo.outputPath('a.gz'), query));
    expect(error).toBeInstanceOf(AuditLogDownloadError);
    expect(error).toMatchObject({ file: testInfo.outputPath('a.gz'), message: expect.stringMatching(problem) });
    expect(server.calls).toHaveLength(1);
  });
}

test('fails instead of looping forever if the service repeats a cursor', async ({ serve, connect }, testInfo) => {
  const server = await serve(chunk(first), chunk(second), chunk({ ...second, next: 'one' }));
  await expect(connect(server).auditLogs.download(testInfo.outputPath('a.gz'), query)).rejects.toThrow(
    /repeats the cursor one\)/,
  );
  expect(server.calls).toHaveLength(3);
});

test('throws a ConnectionError if the service is unreachable', async ({ serve, connect }, testInfo) => {
  const server = await serve(breaking);
  server.server.close();
  const client = connect(server, { maxRetries: 0 });
  expect(await errorOf(client.auditLogs.download(testInfo.outputPath('a.gz'), query))).toBeInstanceOf(ConnectionError);
});
