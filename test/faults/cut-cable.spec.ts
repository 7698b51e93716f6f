import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from '../support/service/fleet.ts';
import { Network, networkProblem } from '../support/http/network.ts';
import { isLong, longOnly } from '../support/processes/long-form.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

test.slow();
test.skip(!isLong, longOnly);

test('clients behind a cut cable leave the queue within a minute, and their leases end by the idle timeout @long', async ({
  startFleet,
}) => {
  const problem = networkProblem();
  test.skip(problem !== undefined, problem);
  await using network = await Network.create(1);
  // Only its machine is used. The clients are on the other side of the link to it.
  const { machines } = await startFleet({ machines: 1, network });
  const { call, url } = machines[0]!;
  await call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true, timeout_seconds: 90 });
  const counts = async () => {
    const { body } = await call('GET', '/browser_pools/ci');
    return { leased: body.acquired_count as number, waiting: (body.waiting_count ?? 0) as number };
  };
  const address = `${url.replace('http', 'ws')}/cdp?pool=ci&token=the-key`;
  const script = `import { WebSocket } from 'ws'; new WebSocket(${JSON.stringify(address)}).on('error', () => {});`;
  const [enter = '', ...place] = network.place('control').enter;
  const start = () =>
    spawn(enter, [...place, process.execPath, '--input-type=module', '--eval', script], { cwd: root, stdio: 'ignore' });
  const holder = start();
  await expect.poll(counts).toEqual({ leased: 1, waiting: 0 });
  const waiting = start();
  await expect.poll(counts).toEqual({ leased: 1, waiting: 1 });

  await network.cut(0);
  await expect.poll(counts, { timeout: 60_000 }).toEqual({ leased: 1, waiting: 0 });
  await expect.poll(counts, { timeout: 90_000 }).toEqual({ leased: 0, waiting: 0 });
  for (const client of [holder, waiting]) {
    client.kill('SIGKILL');
    await once(client, 'exit');
  }
});
