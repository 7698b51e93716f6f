import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { pack } from '../build/src/archive/index.js';
import { memoryOf } from './memory.ts';

// `node pack-profile.js <directory> <file>` prints the peak memory in MB of packing a user-data directory.

const [directory, file] = process.argv.slice(2) as [string, string];
await pipeline(pack(directory), createWriteStream(file));
process.stdout.write(String(await memoryOf(process.pid, 'VmHWM')));
