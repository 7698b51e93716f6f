import { startService, type Service } from '../../../src/service/service.ts';
import { FaultProxy } from '../http/fault-proxy.ts';
import { callerOf, test as base, type TestService } from './service.ts';
import { empty } from './shared-service.ts';
import { perWorker } from '../worker.ts';

/** The key of all services of a plane. */
export const apiKey = 'the-key';

export type Plane = {
  control: TestService;
  machine: TestService;
  /** The way from the control plane to its machine. */
  way: FaultProxy;
};

/** A control plane and its machine for all tests of a worker. A test gets them without pools, sessions and profiles. */
export const test = base.extend<{ plane: Plane; sharedPlane: Plane }>({
  sharedPlane: perWorker(async (use) => {
    await using machine = await startService({ apiKey });
    await using way = await FaultProxy.start(machine.url);
    await using control = await startService({ apiKey, machines: { from: way.url } });
    await use({ control: withCall(control), machine: withCall(machine), way });
  }),
  plane: async ({ sharedPlane: plane }, use) => {
    await use(plane);
    await empty(plane.control.call);
    await empty(plane.machine.call);
  },
});

export function withCall(service: Service): TestService {
  return { ...service, call: callerOf(service) };
}
