import type { Counts, PoolState } from '../../../contract/dashboard-events.ts';
import { hrefOf, type View, type ViewProps } from '../app/place.browser.ts';
import { Age } from '../ui/time.browser.tsx';
import { Chart } from '../ui/chart.browser.tsx';
import { useColours } from '../ui/theme.browser.tsx';

/** The first view: the numbers of browsers, their chart, and the reasons why tests wait. */
export const now: View = { id: 'now', title: 'Now', component: Now };

const numbers: { key: keyof Counts; label: string; hint: string }[] = [
  { key: 'leased', label: 'Leased', hint: 'Browsers in use' },
  { key: 'starting', label: 'Starting', hint: 'Browsers that launch' },
  { key: 'waiting', label: 'Waiting', hint: 'Tests without a browser' },
  { key: 'free', label: 'Free', hint: 'Browsers ready to lease' },
  { key: 'draining', label: 'Draining', hint: 'On machines that leave' },
];

function Now({ state, history }: ViewProps) {
  const colours = useColours();
  const waiting = state.pools.filter(({ waiting }) => waiting > 0);
  return (
    <div class="stack">
      <dl class="numbers">
        {numbers.map(({ key, label, hint }) => (
          <div key={key} class="card" data-alarm={key === 'waiting' && state.counts[key] > 0}>
            <dt>{label}</dt>
            <dd>{state.counts[key].toLocaleString('en')}</dd>
            <dd class="quiet">{hint}</dd>
          </div>
        ))}
      </dl>
      <section class="card" aria-label="Chart">
        <Chart history={history} theme={colours} />
      </section>
      {waiting.length > 0 && <Waiting pools={waiting} />}
      {state.pools.length + state.sessions.length === 0 && (
        <section class="card hint">
          <h2>No pool and no session yet</h2>
          <p class="quiet">
            Run a suite whose tests import <code>test</code> from <code>playwright-pool</code>, or create a pool with{' '}
            <code>npx playwright-pool pools create</code>.
          </p>
        </section>
      )}
    </div>
  );
}

function Waiting({ pools }: { pools: PoolState[] }) {
  return (
    <section class="card" aria-labelledby="waiting">
      <h2 id="waiting">Why tests wait</h2>
      <ul class="reasons">
        {pools.map(({ id, name, wait_reason, oldest_wait_at }) => (
          <li key={id}>
            <a href={hrefOf('pools', { q: name ?? id })}>{name ?? id}</a>
            <span>{wait_reason}</span>
            {oldest_wait_at !== undefined && (
              <span class="quiet">
                longest <Age since={oldest_wait_at} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
