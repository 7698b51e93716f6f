import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startService, type Service, type ServiceOptions } from '../../../src/service/service.ts';
import { sessionsDirectory } from '../processes/sessions-directory.ts';

/** The number of machines that the acceptance of one service runs against, behind a control plane. */
const count = Number(process.env['PLAYWRIGHT_POOL_TEST_MACHINES'] ?? 0);

/** Starts a service, or a control plane with machines if the environment asks for it. */
export async function startAnyService(options: ServiceOptions): Promise<Service> {
  return count === 0 ? await startService(options) : await startControlPlane(count, options);
}

/** A control plane with machines. Closing it closes the machines, too. */
export async function startControlPlane(
  machineCount: number,
  options: ServiceOptions = {},
  settings: { directSessions?: boolean } = {},
): Promise<Service> {
  const { dataDirectory, port: _, ...machineOptions } = options;
  const apiKey = 'key-of-the-machines';
  const startMachine = (_: unknown, index: number) => {
    const place = dataDirectory !== undefined && { dataDirectory: machineDirectory(dataDirectory, index) };
    return startService({ ...machineOptions, ...place, apiKey });
  };
  const machines = await Promise.all(Array.from({ length: machineCount }, startMachine));
  const endMachines = () => Promise.all(machines.map((machine) => machine.close()));
  try {
    const from = machines.map(({ url }) => url);
    const service = await startService({ ...options, machines: { from, apiKey, ...settings } });
    const close = async () => {
      await service.close();
      await endMachines();
    };
    return { ...service, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await endMachines();
    throw error;
  }
}

/** The directory of a session of a service, or of one of its machines. */
export function sessionDirectory(dataDirectory: string, sessionId: string): string {
  const ofMachines = Array.from({ length: count }, (_, index) => machineDirectory(dataDirectory, index));
  const places = [dataDirectory, ...ofMachines].map((directory) => join(sessionsDirectory(directory), sessionId));
  return places.find((place) => existsSync(place)) ?? places[0]!;
}

function machineDirectory(dataDirectory: string, index: number): string {
  return `${dataDirectory}-machine-${index}`;
}
