import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { startService } from '../../../src/service/service.ts';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { callerOf } from '../../support/service/service.ts';
import { expect, test } from '../../support/worker.ts';

test('a control plane asks a machine for no other route than the caller asked for', async () => {
  const apiKey = 'the-key';
  await using machine = await startService({ apiKey });
  // A load balancer, below which the machine has the path /machine.
  await using balancer = await FaultProxy.start(machine.url, { prefix: '/machine' });
  const from = `${balancer.url}/machine`;
  await using service = await startService({ apiKey, machines: { from, apiKey } });
  const { body: session } = await callerOf(service)('POST', '/browsers', {});
  const id = session.session_id as string;
  const ask = async (path: string) => {
    const sent = request(service.url, { path, headers: { authorization: `Bearer ${apiKey}` } }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    await text(answer);
    return answer.statusCode!;
  };
  const list = `browsers/${id}/fs/list_files?path=/`;
  const dots = '.. %2e%2e .%2E %2e ..%2f.. %2f.. ..%5c.. ..\\.. ..; %252e%252e %00 %ff'.split(' ');
  const paths = dots.flatMap((segment) => [
    `/${segment}/${list}`,
    `/${segment}/${segment}/org/../${list}`,
    `/browsers/${id}/process/${segment}/status`,
    `/browsers/${id}/process/${segment}%2f${segment}%2f${segment}%2forg%2fapi_keys%23/status`,
  ]);
  for (const path of paths) {
    balancer.requests.length = 0;
    expect(await ask(path), path).toBeLessThan(500);
    const expected = [`/machine/${list.split('?')[0]}`, `/machine/browsers/${id}/process/`];
    const asked = balancer.requests.map((request) => request.split(' ')[1]!);
    const others = asked.filter((url) => url.includes(id) || !url.startsWith('/machine/'));
    for (const url of others) {
      const parts = url.split('?')[0]!.split('/');
      expect(
        expected.some((start) => url.startsWith(start)),
        `${path} asked for ${url}`,
      ).toBe(true);
      expect(parts, `${path} asked for ${url}`).toHaveLength(url.includes('list_files') ? 6 : 7);
      expect(new URL(url, 'http://machine').pathname, path).toBe(parts.join('/'));
    }
  }
});
