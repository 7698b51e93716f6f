import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ZipPart } from '../service/uploads.ts';

const execute = promisify(execFile);

/** The installed hosted service's SDK as a package file. */
export async function packedClient(): Promise<Buffer> {
  return await packed(path.dirname(createRequire(import.meta.url).resolve('@onkernel/sdk')));
}

/** A package file of a package that isn't in any registry. `scripts` are those of its package.json. */
export async function packedPackage(name: string, main: string, scripts: Record<string, string> = {}): Promise<Buffer> {
  const directory = await mkdtemp(path.join(tmpdir(), 'package-'));
  try {
    await writeFile(path.join(directory, 'package.json'), JSON.stringify({ name, version: '1.0.0', scripts }));
    await writeFile(path.join(directory, 'index.js'), main);
    return await packed(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/**
 * The package.json and the package-lock.json of a project. A dependency is a package file in the project. A development
 * dependency is a package that can't be fetched.
 */
export function manifestsOf(dependencies: Record<string, string>, type = 'module'): ZipPart[] {
  const files = Object.entries(dependencies).map(([name, file]) => [name, `file:${file}`] as const);
  const project = {
    name: 'project',
    version: '1.0.0',
    dependencies: Object.fromEntries(files),
    devDependencies: { 'development-tool': '1.0.0' },
  };
  const packages = {
    '': project,
    ...Object.fromEntries(files.map(([name, resolved]) => [`node_modules/${name}`, { version: '1.0.0', resolved }])),
    'node_modules/development-tool': { version: '1.0.0', resolved: 'http://127.0.0.1:9/tool.tgz', dev: true },
  };
  return [
    { name: 'package.json', content: JSON.stringify({ ...project, type, private: true }) },
    {
      name: 'package-lock.json',
      content: JSON.stringify({ name: 'project', version: '1.0.0', lockfileVersion: 3, requires: true, packages }),
    },
  ];
}

async function packed(directory: string): Promise<Buffer> {
  const destination = await mkdtemp(path.join(tmpdir(), 'packed-'));
  try {
    const options = ['--ignore-scripts', '--silent', '--pack-destination', destination];
    const { stdout } = await execute('npm', ['pack', directory, ...options]);
    return await readFile(path.join(destination, stdout.trim()));
  } finally {
    await rm(destination, { recursive: true });
  }
}
