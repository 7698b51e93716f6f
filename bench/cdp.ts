import { CdpPage } from './cdp-page.ts';
import { interleaved, type Comparison } from './comparison.ts';
import { DebuggingPort } from './debugging-port.ts';
import { ServerProcess } from './server-process.ts';
import { ServiceProcess } from './service.ts';

export const runs = 5;

const evaluates = 2000;
const largeResult = 20_000_000;
const ofSmall = `${evaluates} small evaluates through the service, against Chromium's port`;

/** Compares CDP through the service with the debugging port of another Chromium of the same build. */
export async function run(runs: number): Promise<Comparison[]> {
  await using service = await ServiceProcess.start();
  const { cdp_ws_url } = await service.client.browsers.create({});
  using proxied = await CdpPage.open(cdp_ws_url);
  await using port = await DebuggingPort.open();
  using direct = await CdpPage.open(port.url);
  const small = await interleaved(runs, {
    ours: () => proxied.timeEvaluates(evaluates),
    other: () => direct.timeEvaluates(evaluates),
  });
  const large = await interleaved(runs, {
    ours: () => timeLarge(proxied),
    other: () => timeLarge(direct),
  });
  return [
    { measure: ofSmall, unit: 'ms', ...small },
    { measure: "a result of 20 MB through the service, against Chromium's port", unit: 'ms', ...large },
  ];
}

/** Connects through a process that copies bytes. */
export async function limits(): Promise<Comparison[]> {
  await using port = await DebuggingPort.open();
  await using relay = await ServerProcess.start('relay.js', port.url);
  using relayed = await CdpPage.open(relay.url);
  using direct = await CdpPage.open(port.url);
  const small = await interleaved(runs, {
    ours: () => relayed.timeEvaluates(evaluates),
    other: () => direct.timeEvaluates(evaluates),
  });
  return [{ measure: ofSmall, unit: 'ms', ...small }];
}

async function timeLarge(page: CdpPage): Promise<number> {
  const started = performance.now();
  const length = await page.evaluate(`'x'.repeat(${largeResult})`);
  if (length < largeResult) throw new Error('the result is incomplete');
  return performance.now() - started;
}
