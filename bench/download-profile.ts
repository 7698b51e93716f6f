import { createClient } from 'playwright-pool/client';
import { extract } from '../build/src/archive/index.js';
import { memoryOf } from './memory.ts';

// `node download-profile.js <base URL> <profile> <directory>` prints the duration and the peak memory as JSON.

const [baseURL, name, directory] = process.argv.slice(2) as [string, string, string];
await using client = createClient({ baseURL, apiKey: process.env['PLAYWRIGHT_POOL_API_KEY']! });

const started = performance.now();
const archive = await client.profiles.download(name);
await extract(archive!.stream, directory);
const milliseconds = performance.now() - started;
process.stdout.write(JSON.stringify({ milliseconds, peak: await memoryOf(process.pid, 'VmHWM') }));
