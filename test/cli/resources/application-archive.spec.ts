import { mkdirSync, writeFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { fromBufferPromise } from 'yauzl';
import { outputPath } from '../../support/runs/output-path.ts';
import { packApplication } from '../../../src/cli/application-archive.ts';
import { expect, test } from '../../support/worker.ts';

test('packs an application of many files without a warning of Node', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `${10 + index}.txt`);
  const directory = outputPath('application');
  mkdirSync(directory);
  for (const name of names) writeFileSync(`${directory}/${name}`, name);
  const warnings: string[] = [];
  const note = ({ message }: Error) => void warnings.push(message);
  process.on('warning', note);
  const zip = await fromBufferPromise(await buffer(packApplication(directory)));
  process.off('warning', note);
  const packed: string[] = [];
  for await (const { fileName } of zip.eachEntry()) packed.push(fileName);
  expect(packed).toEqual(names);
  expect(warnings).toEqual([]);
});
