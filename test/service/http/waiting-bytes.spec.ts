import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { PassThrough } from 'node:stream';
import { CdpConnection } from '../../../src/service/chromium/cdp/cdp-connection.ts';
import { OverBudget, uncounted, WaitingBytes } from '../../../src/service/process/waiting-bytes.ts';
import { FairTurns } from '../../../src/service/process/fair-turns.ts';
import { expect, test } from '../../support/worker.ts';

const MiB = 1024 * 1024;
const small = { session: 2 * MiB, project: 3 * MiB, service: 4 * MiB };

test('a call above a budget gets 429 with its name, while earlier calls and small ones go on', () => {
  const budgets = new WaitingBytes(small);
  const claim = (projectId: string, sessionId: string) => budgets.claim({ projectId, sessionId });
  const first = claim('a', '1');
  first.take(MiB);
  first.take(MiB);
  const second = claim('a', '1');
  second.take(uncounted);
  expect(() => second.take(uncounted + 1)).toThrow(/the session budget of waiting bytes is used up: at most 2 MiB/);
  const third = claim('a', '2');
  third.take(MiB);
  expect(() => third.take(MiB / 2)).toThrow(/the project budget of waiting bytes .* at most 3 MiB of this project/);
  claim('b', '3').take(MiB);
  expect(() => claim('c', '4').take(MiB)).toThrow(/the service budget of waiting bytes .* at most 4 MiB of all/);
  for (const each of [first, second, third]) each.end();
  expect(budgets.total).toBe(MiB - uncounted);
});

test('refuses the newest call of the session that has the most, and the call that asks goes on', () => {
  const budgets = new WaitingBytes(small);
  const refused: string[] = [];
  const begin = (name: string, sessionId: string, bytes: number) => {
    const claim = budgets.claim({ projectId: 'a', sessionId });
    claim.onRefused = ({ status }) => refused.push(`${name} ${status}`);
    claim.take(bytes);
    return claim;
  };
  begin('first', '1', MiB / 2);
  begin('second', '1', MiB);
  const other = begin('other', '2', MiB);
  other.take(MiB);
  expect(refused).toEqual(['second 429']);
  expect(() => begin('third', '2', MiB)).toThrow(OverBudget);
  expect(refused).toEqual(['second 429']);
});

test('a message on its way counts for the project only, so that another of its size can wait behind it', () => {
  const budgets = new WaitingBytes(small);
  const claim = budgets.claim({ projectId: 'a', sessionId: '1' });
  claim.take(uncounted);
  expect(claim.isUncounted).toBe(true);
  claim.take(1.4 * MiB, { isOneMessage: true });
  expect(claim.isUncounted).toBe(false);
  claim.take(1.2 * MiB);
  expect(() => claim.take(0.5 * MiB)).toThrow(/the project budget/);
  claim.release(uncounted + 1.4 * MiB);
  expect(() => claim.take(0.9 * MiB)).toThrow(/the session budget/);
  claim.release(1.2 * MiB);
  claim.take(2 * MiB);
  claim.end();
  expect(budgets.total).toBe(0);
});

test("a browser's answer above a budget becomes an error that names it, and later answers arrive", async () => {
  const budgets = new WaitingBytes(small);
  const [fromBrowser, toBrowser] = [new PassThrough(), new PassThrough()];
  const cdp = new CdpConnection(fromBrowser, toBrowser);
  cdp.waiting = budgets.claim({ projectId: 'a', sessionId: '1' });
  const received: string[] = [];
  cdp.route('S1', { receive: (frame) => received.push(String(frame)), closed: () => {} });
  // One message may be larger than the session's budget, but not than that of the project.
  const sent = [2.5, 5, 0.1].map((size, id) => {
    const data = 'x'.repeat(size * MiB);
    return `{"id":${id},"result":{"data":"${data}"},"sessionId":"S1"}`;
  });
  for (const message of sent)
    for (let at = 0; at <= message.length; at += uncounted)
      fromBrowser.write(`${message.slice(at, at + uncounted)}${at + uncounted > message.length ? '\0' : ''}`);
  await expect.poll(() => received.length).toBe(3);
  expect(received[0] === sent[0] && received[2] === sent[2]).toBe(true);
  expect(JSON.parse(received[1]!)).toEqual({
    id: 1,
    error: { code: -32000, message: expect.stringContaining('the project budget of waiting bytes is used up') },
    sessionId: 'S1',
  });
  expect(budgets.total).toBe(0);
  fromBrowser.end();
});

test('gives turns to projects one after another, to few callers at once', async () => {
  const turns = new FairTurns();
  const order: string[] = [];
  let most = 0;
  let running = 0;
  const work = async (project: string) => {
    most = Math.max(most, (running += 1));
    order.push(project);
    await setImmediate();
    running -= 1;
  };
  const first = Array.from({ length: availableParallelism() }, () => '-');
  await Promise.all([...first, 'a', 'a', 'a', 'b', 'c'].map((project) => turns.take(project, () => work(project))));
  expect(order.slice(first.length)).toEqual(['a', 'b', 'c', 'a', 'a']);
  expect(most).toBe(first.length);
  await expect(turns.take('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  await turns.take('a', () => work('a'));
});
