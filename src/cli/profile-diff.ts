import { createHmac, randomBytes } from 'node:crypto';
import { CommandError } from './command-error.ts';
import type { ConnectionOptions } from './connection.ts';
import { withCopy } from './profile-copy.ts';
import { withProgress } from './progress.ts';
import { printJSON } from './table.ts';
import { printable, styled, counted } from './terminal.ts';
import { readUserData, type Item, type Items, type UserData } from './user-data.ts';

export type DiffOptions = ConnectionOptions & {
  chromium?: string;
  sandbox: boolean;
  showValues?: boolean;
  json?: boolean;
};

// The exit codes of diff(1).
const different = 1;
const failed = 2;

/** A value as it is printed: itself, or its length in characters and a mark. Equal values of one output have the same mark. */
type Shown = { length: number; mark: string } | { value: string };
type Side = Shown & { attributes?: string };
type Differences = {
  added: ({ key: string } & Side)[];
  removed: ({ key: string } & Side)[];
  changed: { key: string; before: Side; after: Side }[];
};

/** Compares two profiles and prints how the second differs from the first. Sets the exit code. */
export async function diff(
  a: string,
  b: string,
  options: DiffOptions,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  const settings = {
    executable: options.chromium ?? env['PLAYWRIGHT_POOL_CHROMIUM']?.trim(),
    ...(!options.sandbox && { sandbox: false }),
    environment: env,
    signal,
  };
  const read = (source: string) =>
    withCopy(source, options, env, signal, (directory) =>
      withProgress(`Reading ${source}`, (show) => readUserData(directory, show, settings)),
    );
  try {
    const [before, after] = [await read(a), await read(b)];
    const shown = options.showValues ? plainValue : masked();
    const sections = Object.keys(before) as (keyof UserData)[];
    const differences = Object.fromEntries(
      // Names and versions of extensions are no secrets.
      sections.map((section) => [
        section,
        compared(before[section], after[section], section === 'extensions' ? plainValue : shown),
      ]),
    ) as Record<keyof UserData, Differences>;
    const equal = Object.values(differences).every(
      ({ added, removed, changed }) => added.length + removed.length + changed.length === 0,
    );
    if (options.json) printJSON({ equal, ...differences });
    else if (equal) console.log('Nothing differs.');
    else for (const section of sections) print(section, differences[section]);
    if (!equal) process.exitCode = different;
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error), failed, { cause: error });
  }
}

function compared(before: Items, after: Items, shown: (item: Item) => Shown): Differences {
  const side = (item: Item): Side => ({
    ...shown(item),
    ...(item.attributes !== undefined && { attributes: item.attributes }),
  });
  const onlyIn = (items: Items, others: Items) =>
    sorted(items)
      .filter(([key]) => !others.has(key))
      .map(([key, item]) => Object.assign({ key }, side(item)));
  const changed = sorted(before).flatMap(([key, old]) => {
    const now = after.get(key);
    if (now === undefined || (now.value === old.value && now.attributes === old.attributes)) return [];
    return [{ key, before: side(old), after: side(now) }];
  });
  return { added: onlyIn(after, before), removed: onlyIn(before, after), changed };
}

function sorted(items: Items): [string, Item][] {
  return [...items].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function plainValue({ value }: Item): Shown {
  return { value };
}

/** Hides values behind marks. Uses a new random key each time: otherwise short values could be guessed from their marks. */
function masked(): (item: Item) => Shown {
  const key = randomBytes(32);
  return ({ value }) => ({
    length: value.length,
    mark: createHmac('sha256', key).update(value).digest('hex').slice(0, 8),
  });
}

function print(section: keyof UserData, { added, removed, changed }: Differences): void {
  if (added.length + removed.length + changed.length === 0) return;
  const { stdout } = process;
  console.log(styled(stdout, 'bold', section.replace('_', ' ')));
  for (const { key, ...item } of added) console.log(styled(stdout, 'green', `  + ${printable(key)}  ${text(item)}`));
  for (const { key, ...item } of removed) console.log(styled(stdout, 'red', `  - ${printable(key)}  ${text(item)}`));
  for (const { key, before, after } of changed) {
    console.log(styled(stdout, 'yellow', `  ~ ${printable(key)}  ${text(before)} -> ${text(after)}`));
  }
}

function text(side: Side): string {
  const value = 'value' in side ? printable(side.value) : `${counted(side.length, 'character')} #${side.mark}`;
  return side.attributes ? `${value} (${side.attributes})` : value;
}
