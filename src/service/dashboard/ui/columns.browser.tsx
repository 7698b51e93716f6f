import type { Column } from './table.browser.tsx';
import { Moment } from './time.browser.tsx';

/** The properties of a column that its helper doesn't know, or that are to be different. */
type Options<T> = Partial<Omit<Column<T>, 'cell'>>;

type Title = {
  text: string;
  /** A smaller second line. */
  below?: string | undefined;
  /** Without it, the title isn't a link. */
  href?: string | undefined;
  /** Such as `the player`, if the link opens it in a new tab. */
  opens?: string;
  onClick?: (event: Event) => void;
};

/** `tone` is `good`, `warn`, `bad` or empty. `hint` is shown when the pointer rests on the badge. */
export type BadgeProps = { text: string; tone: string; hint?: string | undefined };

type Action = {
  text: string;
  /** Says on what the button acts, for screen readers. */
  label: string;
  isDanger?: boolean;
  /** The reason if the button can't be used now. */
  refusal?: string | undefined;
  act: () => void;
};

/** The column of names or titles. */
export function titleColumn<T>(
  id: string,
  title: string,
  titleOf: (row: T) => Title,
  options: Options<T> = {},
): Column<T> {
  const cell = (row: T) => <TitleCell {...titleOf(row)} />;
  return { id, title, sort: (row) => titleOf(row).text.toLowerCase(), cell, ...options };
}

/** A column of texts, each in one line that is cut off at its end. */
export function textColumn<T>(
  id: string,
  title: string,
  textOf: (row: T) => string | undefined,
  options: Options<T> = {},
): Column<T> {
  const cell = (row: T) => (
    <span class="clip" title={textOf(row)}>
      {textOf(row) ?? '–'}
    </span>
  );
  return { id, title, sort: (row) => textOf(row) ?? '', cell, ...options };
}

/** A column of moments relative to now. `none` stands for a missing one. */
export function timeColumn<T>(
  id: string,
  title: string,
  timeOf: (row: T) => string | null | undefined,
  { none = '–', ...options }: Options<T> & { none?: string } = {},
): Column<T> {
  const cell = (row: T) => {
    const at = timeOf(row);
    return at ? <Moment at={at} /> : none;
  };
  return { id, title, width: '9rem', isWide: true, sort: (row) => timeOf(row) ?? '', cell, ...options };
}

/** A column of numbers, such as counts, durations or sizes. `textOf` formats them. */
export function numberColumn<T>(
  id: string,
  title: string,
  numberOf: (row: T) => number | undefined,
  { textOf = String, ...options }: Options<T> & { textOf?: (value: number) => string } = {},
): Column<T> {
  const cell = (row: T) => {
    const value = numberOf(row);
    return value === undefined ? '–' : textOf(value);
  };
  return { id, title, width: '7rem', isNumber: true, sort: (row) => numberOf(row) ?? 0, cell, ...options };
}

/** The column of states, as badges. */
export function stateColumn<T>(stateOf: (row: T) => BadgeProps, options: Options<T> = {}): Column<T> {
  const cell = (row: T) => <Badge {...stateOf(row)} />;
  return { id: 'state', title: 'State', width: '8.5rem', sort: (row) => stateOf(row).text, cell, ...options };
}

/** The column of buttons. */
export function actionsColumn<T>(width: string, actionsOf: (row: T) => Action[]): Column<T> {
  const cell = (row: T) => (
    <div class="actions">
      {actionsOf(row).map(({ text, label, isDanger, refusal, act }) => (
        <button
          key={text}
          type="button"
          class={isDanger ? 'danger' : ''}
          aria-label={label}
          disabled={refusal !== undefined}
          title={refusal}
          onClick={act}
        >
          {text}
        </button>
      ))}
    </div>
  );
  return { id: 'actions', title: 'Actions', width, hasButtons: true, cell };
}

export function Badge({ text, tone, hint }: BadgeProps) {
  return (
    <span class="badge" data-tone={tone} title={hint}>
      {text}
    </span>
  );
}

function TitleCell({ text, below, href, opens, onClick }: Title) {
  const props = { class: 'title', title: text };
  const target = opens === undefined ? {} : { target: '_blank', rel: 'noreferrer' };
  return (
    <>
      {href === undefined ? (
        <span {...props}>{text}</span>
      ) : (
        <a {...props} {...target} href={href} onClick={onClick}>
          {text}
          {opens !== undefined && <span class="unseen"> (opens {opens} in a new tab)</span>}
        </a>
      )}
      {below && (
        <small class="clip" title={below}>
          {below}
        </small>
      )}
    </>
  );
}

/**
 * Shows the parts of a whole as a bar. The name of a part, such as `leased`, is the class that gives its colour. `size` is
 * the least that the bar stands for. Text beside it has the numbers.
 */
export function Bar({ size, ...parts }: { size: number } & Record<string, number>) {
  const total = Math.max(
    1,
    size,
    Object.values(parts).reduce((sum, count) => sum + count, 0),
  );
  return (
    <div class="use" aria-hidden="true">
      {Object.entries(parts).map(([kind, count]) => (
        <span key={kind} class={kind} style={{ width: `${(100 * count) / total}%` }}></span>
      ))}
    </div>
  );
}

/** Numbers with their names. The number `alarm` is marked unless it is 0. */
export function Figures({ figures, alarm }: { figures: Record<string, number>; alarm?: string }) {
  return (
    <dl class="figures">
      {Object.entries(figures).map(([label, count]) => (
        <div key={label} data-alarm={label === alarm && count > 0}>
          <dt>{label}</dt>
          <dd>{count}</dd>
        </div>
      ))}
    </dl>
  );
}
