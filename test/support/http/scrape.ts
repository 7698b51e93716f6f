import parsePrometheusText from 'parse-prometheus-text-format';
import type { Service } from '../../../src/service/service.ts';

/** The value of each series by its name and labels, such as `playwright_pool_waiting{pool="ci"}`. */
export type Series = Record<string, number>;

/** Reads and parses `/metrics`. */
export async function scrape({ url, apiKey }: Pick<Service, 'url' | 'apiKey'>): Promise<Series> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
  if (!response.ok) throw new Error(`/metrics answered ${response.status}: ${await response.text()}`);
  return seriesOf(await response.text());
}

/** Parses Prometheus' text format. */
export function seriesOf(text: string): Series {
  const series: Series = {};
  // With their types, the parser merges histograms of several labels into one.
  for (const { name, metrics } of parsePrometheusText(text.replaceAll(/^# TYPE .* histogram$/gm, ''))) {
    for (const { labels = {}, value } of metrics) {
      const noted = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
      series[noted.length > 0 ? `${name}{${noted.join(',')}}` : name] = Number(value);
    }
  }
  return series;
}
