import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { outputPath } from '../../support/runs/output-path.ts';

export type Files = Record<string, string>;

/** The files of a repository with one npm package. */
export const npmRepository: Files = {
  'package.json': '{ "type": "module" }',
  'package-lock.json': '{}',
  '.git/HEAD': '',
};

/** Writes files below a directory, which is one in the test's output by default. */
export async function project(files: Files, directory = outputPath('project')): Promise<string> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(directory, name)), { recursive: true });
    await writeFile(path.join(directory, name), content);
  }
  return directory;
}
