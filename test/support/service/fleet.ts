import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, type Client } from '../../../src/client/index.ts';
import { expect, test as base } from '../runs/fault-runs.ts';
import { expectNoProcessWith } from '../processes/processes.ts';
import { callerOf, type Call } from './service.ts';
import { FaultProxy } from '../http/fault-proxy.ts';
import type { Network } from '../http/network.ts';
import { socketService } from '../processes/separate-service.ts';
import { CliProcess, main } from './service-process.ts';

const apiKey = 'the-key';

/** A machine or a control plane, in a process of its own. */
export type Member = { cli: CliProcess; url: string; client: Client; call: Call; sessions: () => Promise<string[]> };

export type Fleet = {
  machines: Member[];
  control: Member;
  /** Starts the control plane again, on the same port and data directory. */
  restart: (signal: NodeJS.Signals) => Promise<void>;
  /** Starts one more machine. The control plane doesn't know it. */
  startMachine: (options?: { slots?: number; port?: number }) => Promise<Member>;
};

export const test = base.extend<{ startFleet: (options?: FleetOptions) => Promise<Fleet> }>({
  startFleet: async ({}, use, testInfo) => {
    const directory = testInfo.outputPath('fleet');
    const started: CliProcess[] = [];
    let count = 0;
    const relays: AsyncDisposable[] = [];
    let network: Network | undefined;
    const start = async (name: string, args: string[]): Promise<Member> => {
      const serve = ['serve', '--data-dir', join(directory, name), ...args];
      const env = { PLAYWRIGHT_POOL_API_KEY: apiKey };
      const place = network?.place(name);
      const socket = join(tmpdir(), `${randomUUID()}.socket`);
      const inNetwork = [socket, main, ...serve, '--host', '0.0.0.0'];
      const cli = place
        ? new CliProcess(inNetwork, { env, main: socketService, enter: place.enter })
        : new CliProcess(serve, { env });
      started.push(cli);
      const own = (await cli.firstLine()).replace(/^listening on /, '');
      const relay = place && (await FaultProxy.start(socket));
      if (relay) relays.push(relay);
      const url = place ? `http://${place.address}:${new URL(own).port}` : own;
      const baseURL = relay?.url ?? url;
      const client = createClient({ baseURL, apiKey });
      const sessions = async () => {
        const ids: string[] = [];
        for await (const { session_id } of client.browsers.list({})) ids.push(session_id);
        return ids.toSorted();
      };
      return { cli, url, client, call: callerOf({ url: baseURL, apiKey }), sessions };
    };
    const startMachine: Fleet['startMachine'] = ({ slots = 4, port = 0 } = {}) =>
      start(`machine-${count++}`, ['--port', String(port), '--max-sessions', String(slots), '--drain-timeout', '60']);
    await use(async (options = {}) => {
      const { machines: machineCount = 2, slots = 4, direct = false, via = (urls) => urls } = options;
      network = options.network;
      const machines = await Promise.all(Array.from({ length: machineCount }, () => startMachine({ slots })));
      const from = (await via(machines.map(({ url }) => url))).join(',');
      const args = ['--machines', from, ...(direct ? ['--direct-sessions'] : [])];
      const fleet: Fleet = {
        machines,
        control: await start('control', args),
        startMachine,
        restart: async (signal) => {
          fleet.control.cli.child.kill(signal);
          await fleet.control.cli.exited;
          fleet.control = await start('control', [...args, '--port', new URL(fleet.control.url).port]);
        },
      };
      return fleet;
    });
    await Promise.all(
      started.map(async (cli) => {
        // A second signal doesn't wait for sessions.
        cli.child.kill('SIGTERM');
        cli.child.kill('SIGINT');
        await cli.exited;
      }),
    );
    for (const relay of relays) await relay[Symbol.asyncDispose]();
    if (testInfo.errors.length > 0) console.log(started.map(({ output }) => output).join('\n--- next process ---\n'));
    await expectNoProcessWith(directory);
  },
});

type FleetOptions = {
  machines?: number;
  /** The most sessions of each machine. */
  slots?: number;
  direct?: boolean;
  /** Runs each member in its namespace. `url` of a member leads to it from the control plane's. */
  network?: Network;
  /** Replaces the machines' URLs for the control plane. */
  via?: (urls: string[]) => string[] | Promise<string[]>;
};

export { expect };

/** Waits until only these sessions run on the machines. */
export async function expectOnMachines(machines: Member[], ids: string[]): Promise<void> {
  const all = async () => (await Promise.all(machines.map(({ sessions }) => sessions()))).flat().toSorted();
  await expect.poll(all, { timeout: 30_000 }).toEqual(ids.toSorted());
}
