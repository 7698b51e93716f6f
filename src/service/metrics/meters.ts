import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Pool } from '../pools/pool.ts';
import type { Pools } from '../pools/pools.ts';
import type { Clock } from '../process/clock.ts';
import type { ByteCounts } from '../process/network/socket-bytes.ts';
import type { AcquireOutcome, EventPool, LeaseEnd } from '../process/service-events.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { PoolLabelling, type PoolLabels } from './pool-labels.ts';

export type MetricSources = {
  pools: Pools;
  sessions: Sessions;
  projectName: (id: string) => string;
  tunnelBytes: () => ByteCounts;
  /** The machines of a control plane. */
  machines: () => readonly MeteredMachine[];
  clock: Clock;
};

export type MeteredMachine = { url: string; isUp: boolean; silentMs: number; sessions: ReadonlyMap<string, unknown> };

const prefix = 'playwright_pool_';
const ofPool = ['project', 'pool', 'engine'] as const;
type OfPool = (typeof ofPool)[number];
const waits = [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 20, 30];

/** Defines the metrics of a service with prom-client, and counts the service's events in them. */
export class Meters {
  readonly #sources: MetricSources;
  readonly #registry = new Registry();
  readonly #labels: PoolLabelling;
  readonly #acquireSeconds: Histogram<OfPool>;
  readonly #acquires: Counter<OfPool | 'outcome'>;
  readonly #connectSeconds: Histogram<'transport'>;
  readonly #urlLeases: Counter<'language' | 'version'>;
  readonly #resetSeconds: Histogram<OfPool>;
  readonly #leaseEnds: Counter<OfPool | 'reason'>;

  constructor(sources: MetricSources) {
    this.#sources = sources;
    const registers = [this.#registry];
    this.#labels = new PoolLabelling(sources.projectName);
    this.#addCollected(sources);
    this.#acquireSeconds = new Histogram({
      name: `${prefix}acquire_seconds`,
      help: 'Time from an acquire call to its browser. One call waits 30 s at most.',
      labelNames: ofPool,
      buckets: waits,
      registers,
    });
    this.#acquires = new Counter({
      name: `${prefix}acquires_total`,
      help: 'Acquire calls by outcome: leased, timeout, left (the caller hung up), failed.',
      labelNames: [...ofPool, 'outcome'],
      registers,
    });
    this.#connectSeconds = new Histogram({
      name: `${prefix}connect_seconds`,
      help: 'Time to connect a client with its browser.',
      labelNames: ['transport'],
      buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5],
      registers,
    });
    this.#urlLeases = new Counter({
      name: `${prefix}url_leases_total`,
      help: 'Leases by URL by the language and the minor version of the Playwright client.',
      labelNames: ['language', 'version'],
      registers,
    });
    this.#resetSeconds = new Histogram({
      name: `${prefix}reset_seconds`,
      help: "Time from a lease's end until an idle browser takes its place; 0 for a reused one.",
      labelNames: ofPool,
      buckets: waits,
      registers,
    });
    this.#leaseEnds = new Counter({
      name: `${prefix}lease_ends_total`,
      help: 'Ended leases of pools by reason, such as reused, recycled, idle_timeout, browser_ended.',
      labelNames: [...ofPool, 'reason'],
      registers,
    });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics in Prometheus' text format. Forgets deleted pools. */
  async text(): Promise<string> {
    const { pools, clock } = this.#sources;
    for (const labels of this.#labels.forgetDeleted(pools.all(), clock.now())) await this.#remove(labels);
    return await this.#registry.metrics();
  }

  acquired({ pool, outcome, seconds }: { pool: EventPool; outcome: AcquireOutcome; seconds: number }): void {
    const labels = this.#labels.of(pool);
    this.#acquires.inc({ ...labels, outcome });
    if (outcome === 'leased') this.#acquireSeconds.observe(labels, seconds);
  }

  connected({ transport, seconds }: { transport: string; seconds: number }): void {
    this.#connectSeconds.observe({ transport }, seconds);
  }

  leasedByUrl(client: { language: string; version: string }): void {
    this.#urlLeases.inc(client);
  }

  leaseEnded({ pool, reason }: { pool: EventPool; reason: LeaseEnd }): void {
    this.#leaseEnds.inc({ ...this.#labels.of(pool), reason });
  }

  reset({ pool, seconds }: { pool: EventPool; seconds: number }): void {
    this.#resetSeconds.observe(this.#labels.of(pool), seconds);
  }

  /** Removes the counters and histograms of a deleted pool. Its gauges are gone already. */
  async #remove(gone: PoolLabels): Promise<void> {
    for (const histogram of [this.#acquireSeconds, this.#resetSeconds]) histogram.remove({ ...gone });
    const isGone = (labels: Partial<Record<string, string | number>>) =>
      ofPool.every((name) => labels[name] === gone[name]);
    for (const { labels } of (await this.#acquires.get()).values)
      if (isGone(labels)) this.#acquires.remove({ ...labels });
    for (const { labels } of (await this.#leaseEnds.get()).values)
      if (isGone(labels)) this.#leaseEnds.remove({ ...labels });
  }

  #addCollected({ pools, sessions, clock, machines, tunnelBytes }: MetricSources): void {
    const sum = (count: (pool: Pool) => number) => pools.all().reduce((total, pool) => total + count(pool), 0);
    const pooled = () => sum((pool) => pool.acquiredCount + pool.availableCount + pool.startingCount);
    const single = () => Math.max(0, sessions.countIn() - pooled());
    const waitOf = ({ oldestWait = Infinity }: Pool) => Math.max(0, clock.now() - oldestWait) / 1000;
    this.#gauge(
      'demand',
      'Browsers in use, and acquires that wait for one. Scale machines by it.',
      () => sum((pool) => pool.acquiredCount + pool.waitingCount) + single(),
    );
    this.#gauge('capacity', 'Browsers that may run at once.', () => sessions.capacityFor());
    this.#gauge('draining', '1 while the service refuses new sessions because it drains.', () =>
      Number(sessions.draining !== undefined),
    );
    this.#gauge('single_sessions', 'Running and starting browsers outside pools.', single);
    this.#poolGauge('size', 'The most browsers that the pool may have.', (pool) => pool.config.size);
    this.#poolGauge('waiting', 'Acquires that wait for a browser.', (pool) => pool.waitingCount);
    this.#poolGauge('oldest_wait_seconds', 'How long the oldest waiting acquire call has waited.', waitOf, Math.max);
    this.#labelled('sessions', 'Browsers of pools by state: leased, idle, starting.', [...ofPool, 'state'], (gauge) => {
      for (const pool of pools.all()) {
        const labels = this.#labels.of(pool);
        gauge.inc({ ...labels, state: 'leased' }, pool.acquiredCount);
        gauge.inc({ ...labels, state: 'idle' }, pool.availableCount);
        gauge.inc({ ...labels, state: 'starting' }, pool.startingCount);
      }
    });
    const ofMachine = (name: string, help: string, read: (machine: MeteredMachine) => number) =>
      this.#labelled(`machine_${name}`, help, ['machine'], (gauge) => {
        for (const machine of machines()) gauge.set({ machine: machine.url }, read(machine));
      });
    ofMachine('up', '1 if the machine answered the last check.', ({ isUp }) => Number(isUp));
    ofMachine('heartbeat_age_seconds', "Time since the machine's last answer.", ({ silentMs }) => silentMs / 1000);
    ofMachine('sessions', 'Sessions on the machine.', (machine) => machine.sessions.size);
    const metric = new Counter({
      name: `${prefix}tunnel_bytes_total`,
      help: 'Bytes of all tunnels: received from test machines, and sent to them.',
      labelNames: ['direction'],
      registers: [],
      collect() {
        const { received, sent } = tunnelBytes();
        this.reset();
        this.inc({ direction: 'received' }, received);
        this.inc({ direction: 'sent' }, sent);
      },
    });
    this.#registry.registerMetric(metric);
  }

  #gauge(name: string, help: string, read: () => number): void {
    this.#labelled(name, help, [], (gauge) => gauge.set(read()));
  }

  /** Adds a gauge of pools. `join` combines the values of pools that share the labels `other`. */
  #poolGauge(name: string, help: string, read: (pool: Pool) => number, join = plus): void {
    this.#labelled(name, help, ofPool, (gauge) => {
      const values = new Map<PoolLabels, number>();
      for (const pool of this.#sources.pools.all()) {
        const own = this.#labels.of(pool);
        values.set(own, join(values.get(own) ?? 0, read(pool)));
      }
      for (const [own, value] of values) gauge.set(own, value);
    });
  }

  /** Adds a gauge whose values `collect` sets at each read. */
  #labelled(name: string, help: string, labelNames: readonly string[], collect: (gauge: Gauge) => void): void {
    const metric = new Gauge({
      name: prefix + name,
      help,
      labelNames,
      registers: [],
      collect() {
        this.reset();
        collect(this);
      },
    });
    this.#registry.registerMetric(metric);
  }
}

function plus(one: number, other: number): number {
  return one + other;
}
