// Starts a service in this network namespace, and lets its first argument, a Unix socket, lead to it from elsewhere.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream';

const [, , socketPath, ...command] = process.argv;
const service = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => service.kill(signal));
service.once('exit', () => process.exit());
const lines = createInterface(service.stdout);
const [line] = await once(lines, 'line');
const port = Number(/:(\d+)$/.exec(line)?.[1]);
const relay = createServer((client) => {
  const target = connect(port, '127.0.0.1');
  pipeline(client, target, client, () => {});
});
relay.listen(socketPath, () => {
  process.stdout.write(`${line}\n`);
  lines.on('line', (later) => process.stdout.write(`${later}\n`));
});
