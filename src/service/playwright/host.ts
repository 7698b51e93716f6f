import { mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { sendRequestsThrough } from './host-requests.ts';
import { launchEngine } from './launch-engine.ts';
import { taskDescriptor, type HostAnswer, type HostTask } from './host-messages.ts';

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
  void answerTo(JSON.parse(line) as HostTask).then((answer) => tasks.write(`${JSON.stringify(answer)}\n`));
});

process.argv = [process.execPath, command, 'run-driver'];
createRequire(command)(command);

async function answerTo(task: HostTask): Promise<HostAnswer> {
  try {
    if ('launch' in task) return { launched: await launchEngine(dirname(command!), task.launch) };
    carryOut(task);
    return {};
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

function carryOut(task: Exclude<HostTask, { launch: unknown }>): void {
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
