import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { basename } from 'node:path';

// NODE_OPTIONS loads this into each process of a run: Node 20 refuses --cpu-prof there.
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.setSamplingInterval', { interval: 500 });
session.post('Profiler.start');
process.on('exit', () => {
  session.post('Profiler.stop', (_error, { profile }) => {
    const program = basename(process.argv[1] ?? '', '.js');
    writeFileSync(`${process.env['BENCH_PROFILES']}/${program}.json`, JSON.stringify(profile));
  });
});
