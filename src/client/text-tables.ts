const maxText = 200;
const maxUrl = 2000;

/** Text in one line in which all Markdown and HTML is escaped. Long text is cut. */
export function markdownText(value: string): string {
  const line = value.replaceAll(/\p{Cc}+/gu, ' ');
  const cut = line.length > maxText ? `${line.slice(0, maxText - 1)}…` : line;
  return cut.replaceAll(/[!-+;-@[-`{-~]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A link to a web page, or `otherwise` for every other URL. */
export function markdownLink(text: string, url: string | undefined, otherwise = ''): string {
  if (url === undefined || url.length > maxUrl || !URL.canParse(url)) return markdownText(otherwise);
  const { protocol, href } = new URL(url);
  return /^https?:$/.test(protocol)
    ? `[${markdownText(text)}](<${href.replaceAll('|', '%7C')}>)`
    : markdownText(otherwise);
}

/** A table. Its cells are Markdown in one line. */
export function markdownTable(head: string[], rows: string[][]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The lines of a table with aligned columns. `widthOf` measures the cells, by default in UTF-16 units. */
export function alignedLines(rows: string[][], widthOf = ({ length }: string): number => length): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    // Not Math.max(...): with one argument per row it would overflow the stack.
    rows.reduce((widest, cells) => Math.max(widest, widthOf(cells[column]!)), 0),
  );
  return rows.map((cells) => {
    const padded = cells.map((cell, column) => cell + ' '.repeat(widths[column]! - widthOf(cell)));
    return padded.join('  ').trimEnd();
  });
}
