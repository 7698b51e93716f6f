import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { interleavedWithoutWarmUp, type Comparison } from './comparison.ts';
import { ServerProcess } from './server-process.ts';
import { apiKey, ServiceProcess } from './service.ts';

const execute = promisify(execFile);
const gigabyte = 1000;

export const runs = 3;
export const needs = ['curl'];

/** Compares uploads and downloads of large files with curl, between a session and a minimal server. */
export async function run(runs: number): Promise<Comparison[]> {
  const directory = await mkdtemp(path.join(tmpdir(), 'playwright-pool-bench-'));
  const bareFile = path.join(directory, 'bare');
  try {
    await using service = await ServiceProcess.start();
    await using bare = await ServerProcess.start('file-server.js', bareFile);
    const { session_id: id } = await service.client.browsers.create({});
    const fs = `${service.url}/browsers/${id}/fs`;
    const [source, target] = [path.join(directory, 'source'), path.join(directory, 'target')];

    const write = () => curl('--upload-file', source, `${fs}/write_file?path=/home/user/file`);
    const read = () => curl('--output', target, `${fs}/read_file?path=/home/user/file`);

    await makeFile(source, gigabyte);
    // Each run writes a new file: the service would keep an old one until it has all of the new one.
    const writing = await interleavedWithoutWarmUp(runs, {
      async ours() {
        await service.client.browsers.fs.deleteFile(id, { path: '/home/user/file' }).catch(() => {});
        return await throughput(gigabyte, write);
      },
      async other() {
        await rm(bareFile, { force: true });
        return await throughput(gigabyte, () => curl('--upload-file', source, bare.url));
      },
    });
    const reading = await interleavedWithoutWarmUp(runs, {
      ours: () => throughput(gigabyte, read),
      other: () => throughput(gigabyte, () => curl('--output', target, bare.url)),
    });
    await makeFile(source, 3 * gigabyte);
    const growth = await service.growthDuring(async () => {
      await write();
      await read();
    });
    return [
      { measure: 'write_file of 1 GB, against a bare Node server', unit: 'MB/s', higherIsBetter: true, ...writing },
      { measure: 'read_file of 1 GB, against a bare Node server', unit: 'MB/s', higherIsBetter: true, ...reading },
      { measure: "growth of the service's memory over 3 GB written and read back", unit: 'MB', ours: [growth] },
    ];
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Runs curl with the key of the measured services. */
export async function curl(...args: string[]): Promise<void> {
  await execute('curl', ['--silent', '--fail', '--header', `Authorization: Bearer ${apiKey}`, ...args]);
}

/** Makes a file that nothing can compress. */
export async function makeFile(file: string, megabytes: number): Promise<void> {
  await using handle = await open(file, 'w');
  const block = randomBytes(1e6);
  for (let written = 0; written < megabytes; written++) await handle.write(block);
}

/** In MB per second. */
async function throughput(megabytes: number, act: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await act();
  return megabytes / ((performance.now() - started) / 1000);
}
