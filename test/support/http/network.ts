import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { commandPath } from '../processes/system-commands.ts';

const execute = promisify(execFile);
let networks = 0;

/** Where a service runs: the beginning of its command line, and its address in the network. */
export type Place = { enter: string[]; address: string };

/** Why this machine allows no network of a test; `undefined` if it does. */
export function networkProblem(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can make network namespaces';
  const missing = ['ip', 'nsenter'].filter((name) => commandPath(name) === undefined);
  return missing.length > 0 ? `missing: ${missing.join(', ')}` : undefined;
}

/** A network of a test: a namespace for the control plane, one for each machine, and a link to each machine. */
export class Network implements AsyncDisposable {
  readonly #name = `pool-${process.pid}-${networks++}`;
  readonly #namespaces: string[] = [];

  static async create(machines: number): Promise<Network> {
    const network = new Network();
    try {
      await network.#add('control');
      for (let index = 0; index < machines; index++) await network.#link(index);
    } catch (error) {
      await network[Symbol.asyncDispose]();
      throw error;
    }
    return network;
  }

  /** `name` is `control`, `machine-0`, `machine-1` and so on. */
  place(name: string): Place {
    const enter = ['nsenter', `--net=/run/netns/${this.#of(name)}`];
    return { enter, address: name === 'control' ? '127.0.0.1' : `10.77.${name.split('-')[1]}.2` };
  }

  /** Takes the link to a machine down. Neither side gets a notice. */
  async cut(machine: number): Promise<void> {
    await this.#ip('control', 'link', 'set', `to-${machine}`, 'down');
  }

  async mend(machine: number): Promise<void> {
    await this.#ip('control', 'link', 'set', `to-${machine}`, 'up');
  }

  /** Deletes the links, too. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const namespace of this.#namespaces.toReversed()) await execute('ip', ['netns', 'delete', namespace]);
  }

  async #link(index: number): Promise<void> {
    const machine = `machine-${index}`;
    const [here, there] = [`to-${index}`, 'eth0'];
    await this.#add(machine);
    const peer = ['peer', 'name', there, 'netns', this.#of(machine)];
    await execute('ip', ['link', 'add', here, 'netns', this.#of('control'), 'type', 'veth', ...peer]);
    for (const [name, link, address] of [
      ['control', here, `10.77.${index}.1/24`],
      [machine, there, `10.77.${index}.2/24`],
    ] as const) {
      await this.#ip(name, 'address', 'add', address, 'dev', link);
      await this.#ip(name, 'link', 'set', link, 'up');
    }
  }

  async #add(name: string): Promise<void> {
    await execute('ip', ['netns', 'add', this.#of(name)]);
    this.#namespaces.push(this.#of(name));
    await this.#ip(name, 'link', 'set', 'lo', 'up');
  }

  async #ip(name: string, ...args: string[]): Promise<void> {
    await execute('ip', ['-n', this.#of(name), ...args]);
  }

  #of(name: string): string {
    return `${this.#name}-${name}`;
  }
}
