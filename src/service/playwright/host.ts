import { mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { sendRequestsThrough } from './host-requests.ts';
import { taskDescriptor, type HostTask } from './host-messages.ts';

/**
 * The program of a Playwright host: `host.js <command of playwright-core>`. Runs Playwright's driver, the one that
 * Playwright for Python and Java uses: it reads and writes Playwright's protocol on stdin and stdout, and ends when stdin
 * closes.
 *
 * Loads Playwright at once, so that a spare host is ready when a session needs one. Takes the session's user id before a
 * client connects.
 */
const command = process.argv[2];
if (command === undefined) throw new Error('usage: host.js FILE, where FILE is the cli.js of playwright-core');

const tasks = new Socket({ fd: taskDescriptor });
tasks.on('error', () => {});
tasks.once('close', () => process.exit(0));
createInterface({ input: tasks }).on('line', (line) => {
  let problem = '';
  try {
    carryOut(JSON.parse(line) as HostTask);
  } catch (error) {
    problem = (error as Error).message.replaceAll('\n', ' ');
  }
  tasks.write(`${problem}\n`);
});

process.argv = [process.execPath, command, 'run-driver'];
createRequire(command)(command);

function carryOut(task: HostTask): void {
  if ('prepare' in task) {
    mkdirSync(task.prepare.directory, { recursive: true });
    sendRequestsThrough(task.prepare.proxyUrl);
  } else if ('remove' in task) rmSync(task.remove, { recursive: true, force: true });
  else {
    const { user, directory, environment } = task.joinSession;
    if (user) {
      process.setgroups?.([user.gid]);
      process.setgid?.(user.gid);
      process.setuid?.(user.uid);
    }
    process.chdir(directory);
    Object.assign(process.env, environment);
  }
}
