import { readFile } from 'node:fs/promises';
import { expect } from '@playwright/test';
import { parser } from '@prometheus-io/lezer-promql';
import { test } from '../support/service/service.ts';

type Panel = { title: string; targets: { expr: string }[] };
type Variable = { name: string; query: string };

test('each metric and label in the Grafana dashboard exists in /metrics', async ({ service }) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true });
  const leased = (await service.call('POST', '/browser_pools/ci/acquire', {})).body;
  await service.call('POST', '/browser_pools/ci/release', { session_id: leased.session_id });
  const text = await metricsOf(service);
  const offered = new Set(Array.from(text.matchAll(/^# TYPE (\S+) (\S+)/gm), namesOf).flat());
  const labels = new Set(Array.from(text.matchAll(/[{,](\w+)="/g), ([, label]) => label!));
  // No client connects in this test.
  for (const label of ['transport', 'language', 'version']) labels.add(label);

  const { panels, variables } = await dashboard();
  const used = new Set<string>();
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      const { metrics, grouping } = inQuery(expr, title);
      expect(metrics, title).not.toEqual([]);
      for (const name of metrics) used.add(name);
      for (const label of grouping) expect(labels, title).toContain(label);
    }
  }
  for (const { query } of variables) for (const [name] of query.matchAll(/playwright_pool_\w+/g)) used.add(name);
  expect([...used].filter((name) => !offered.has(name))).toEqual([]);
  // Nothing that the service measures is missing on the dashboard.
  const shown = new Set(Array.from(used, (name) => name.replace(/_bucket$/, '')));
  const measured = Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name!);
  expect(measured.filter((name) => !shown.has(name))).toEqual([]);
});

test('each metric in the scaling rules of deploy/ exists in /metrics', async ({ service }) => {
  const text = await metricsOf(service);
  for (const path of [
    'kubernetes/overlays/hpa/autoscaler.yaml',
    'kubernetes/overlays/keda/autoscaler.yaml',
    'nomad.hcl',
  ]) {
    const file = await readFile(new URL(`../../deploy/${path}`, import.meta.url), 'utf8');
    const names = Array.from(file.matchAll(/playwright_pool_\w+/g), ([name]) => name);
    expect(names.length, path).toBeGreaterThan(0);
    for (const name of names) expect(text, path).toContain(`# TYPE ${name} gauge`);
  }
});

async function metricsOf({ url, apiKey }: { url: string; apiKey: string }): Promise<string> {
  const headers = { authorization: `Bearer ${apiKey}` };
  return await (await fetch(`${url}/metrics`, { headers })).text();
}

async function dashboard(): Promise<{ panels: Panel[]; variables: Variable[] }> {
  const file = new URL('../../deploy/grafana.json', import.meta.url);
  const { panels, templating } = JSON.parse(await readFile(file, 'utf8')) as {
    panels: Panel[];
    templating: { list: Variable[] };
  };
  return { panels, variables: templating.list };
}

/** The names of the series of a metric. */
function namesOf([, name = '', type]: RegExpMatchArray): string[] {
  return type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name];
}

/** Parses a query as Prometheus does, after Grafana has replaced its own variables. */
function inQuery(expr: string, title: string): { metrics: string[]; grouping: string[] } {
  const query = expr.replaceAll('$__rate_interval', '1m');
  const found = { metrics: [] as string[], grouping: [] as string[] };
  parser.parse(query).iterate({
    enter({ type, name, from, to }) {
      expect(type.isError, `${title}: ${query} is wrong at character ${from}`).toBe(false);
      if (name === 'Identifier') found.metrics.push(query.slice(from, to));
      if (name === 'LabelName') found.grouping.push(query.slice(from, to));
    },
  });
  return { metrics: found.metrics, grouping: found.grouping.filter((label) => label !== 'le') };
}
