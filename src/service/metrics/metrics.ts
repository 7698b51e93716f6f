import { OperationError } from '../../contract/errors.ts';
import { errorCode } from '../process/system-error.ts';
import type { ServiceEvents } from '../process/service-events.ts';
import type { Meters, MetricSources } from './meters.ts';

/** Counts one event as soon as prom-client is loaded. */
type Noted = (meters: Meters) => void;

const mostUncounted = 1000;

/** The metrics of a service. Counts from the start, and loads prom-client at the first read or after 1000 events. */
export class Metrics {
  readonly #sources: MetricSources;
  #meters: Meters | undefined;
  #loading: Promise<Meters> | undefined;
  #uncounted: Noted[] = [];

  constructor(events: ServiceEvents, sources: MetricSources) {
    this.#sources = sources;
    events.on('acquired', (event) => this.#note((meters) => meters.acquired(event)));
    events.on('connected', (event) => this.#note((meters) => meters.connected(event)));
    events.on('leasedByUrl', (client) => this.#note((meters) => meters.leasedByUrl(client)));
    events.on('leaseEnded', (event) => this.#note((meters) => meters.leaseEnded(event)));
    events.on('reset', (event) => this.#note((meters) => meters.reset(event)));
  }

  /** All metrics in Prometheus' text format. */
  async read(): Promise<{ contentType: string; text: string }> {
    const meters = await this.#load();
    return { contentType: meters.contentType, text: await meters.text() };
  }

  #note(noted: Noted): void {
    if (this.#meters) return noted(this.#meters);
    this.#uncounted.push(noted);
    if (this.#uncounted.length < mostUncounted) return;
    // prom-client isn't installed, so nobody can read the events. Drop them.
    this.#load().catch(() => void (this.#uncounted = []));
  }

  #load(): Promise<Meters> {
    return (this.#loading ??= this.#open());
  }

  async #open(): Promise<Meters> {
    const { Meters } = await import('./meters.ts').catch((error: unknown) => {
      // prom-client is an optional dependency: most users never read metrics, and it takes 3.5 MB.
      if (errorCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
      throw new OperationError('unavailable', 'metrics need the package prom-client: npm install prom-client');
    });
    const meters = new Meters(this.#sources);
    for (const noted of this.#uncounted.splice(0)) noted(meters);
    this.#meters = meters;
    return meters;
  }
}
