import { readFileSync, writeFileSync } from 'node:fs';

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/**
 * Makes a source map smaller: keeps the start of each source line, so that stack traces name the right lines. The columns
 * of these places would take 27 kB of the packed package.
 */
export function keepLineMappings(file) {
  const map = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...map, mappings: lineMappings(map.mappings) }));
}

function lineMappings(mappings) {
  // Fields of a segment are relative to the segment before: source and line in the whole map, the generated column in
  // its line.
  const read = [0, 0];
  const written = [0, 0];
  return mappings
    .split(';')
    .map((line) => {
      let column = 0;
      let writtenColumn = 0;
      let place = '';
      const kept = [];
      for (const segment of line.split(',').map(numbersOf)) {
        column += segment[0] ?? 0;
        if (segment.length < 4) continue;
        for (const index of read.keys()) read[index] += segment[index + 1];
        if (place === read.join(':')) continue;
        place = read.join(':');
        const fields = [column - writtenColumn, ...read.map((value, index) => value - written[index]), 0];
        kept.push(fields.map(textOf).join(''));
        writtenColumn = column;
        for (const index of read.keys()) written[index] = read[index];
      }
      return kept.join(',');
    })
    .join(';');
}

/**
 * A number has five bits in each digit, lowest first. The sixth bit says that more follow, the number's lowest bit is
 * its sign.
 */
function numbersOf(text) {
  const numbers = [];
  let number = 0;
  let shift = 0;
  for (const digit of text) {
    const bits = digits.indexOf(digit);
    number |= (bits & 31) << shift;
    shift += 5;
    if (bits > 31) continue;
    numbers.push(number & 1 ? -(number >> 1) : number >> 1);
    number = 0;
    shift = 0;
  }
  return numbers;
}

function textOf(number) {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1;
  let text = '';
  for (; rest > 31; rest >>= 5) text += digits[(rest & 31) | 32];
  return text + digits[rest];
}
