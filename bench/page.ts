import { html, raw } from 'hono/html';
import type { Figure } from './charts.ts';
import { median } from './comparison.ts';

/** The raw data of a page. `date` and `ended` are the times of its first and last figure. */
export type Data = {
  date: string;
  ended: string;
  machine: Record<string, string | number>;
  versions: Record<string, string>;
  failures: string[];
  figures: Figure[];
};

/** A page without other files: the pictures of the figures, and their tables. */
export function pageOf({ date, ended, machine, versions, failures, figures }: Data, pictures: string[]) {
  const facts = { from: date, to: ended, ...machine, ...versions };
  return html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8" />
      <title>Figures of playwright-pool</title>
      <style>
        body {
          font: 16px/1.5 sans-serif;
          max-width: 60rem;
          margin: 2rem auto;
          padding: 0 1rem;
          background: white;
          color: black;
        }
        svg {
          max-width: 100%;
          height: auto;
        }
        td,
        th {
          padding: 0 1rem 0 0;
          text-align: left;
        }
        summary {
          cursor: pointer;
        }
      </style>
      <h1>Figures of playwright-pool</h1>
      <p>
        Repeat them in a clone of the repository with <code>npm run bench -- publish</code>. The raw data is in
        <a href="data.json">data.json</a>. Other programs on the machine change times: compare the series of one picture
        only.
      </p>
      <table>
        ${Object.entries(facts).map(
          ([name, value]) =>
            html`<tr>
              <th>${name}</th>
              <td>${value}</td>
            </tr>`,
        )}
      </table>
      ${failures.map((failure) => html`<p><strong>Not measured:</strong> ${failure}</p>`)}
      ${figures.map(
        (figure, index) =>
          html`<h2>${figure.title}</h2>
            <p>${figure.text}</p>
            ${raw(pictures[index]!)} ${tableOf(figure)}`,
      )}
    </html>`;
}

function tableOf({ x, y, rows }: Figure) {
  return html`<details>
    <summary>Table and samples</summary>
    <table>
      <tr>
        <th></th>
        <th>${x}</th>
        <th>${y}</th>
        <th>samples</th>
      </tr>
      ${rows.map(
        (row) =>
          html`<tr>
            <td>${[row.panel, row.series].filter(Boolean).join(', ')}</td>
            <td>${row.x}</td>
            <td>${row.y.toFixed(1)}</td>
            <td>${samplesOf(row.samples)}</td>
          </tr>`,
      )}
    </table>
  </details>`;
}

/** All of a few. Of many, the page has the median only: the data has all. */
function samplesOf(samples: number[]): string {
  if (samples.length > 20) return `${samples.length}, median ${median(samples).toFixed(1)}`;
  return samples.map((sample) => sample.toFixed(1)).join(', ');
}
