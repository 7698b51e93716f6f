import words from './words.json' with { type: 'json' };

/** A subject that words on a login page can be about, such as a password. */
export type Subject = keyof typeof words.subjects;

/**
 * Whether a text has a word about one of the subjects, in any of the languages of words.json. Words are the weakest
 * evidence: use them only if the page's structure gives no answer.
 */
export function isAbout(subjects: Subject | Subject[], ...texts: (string | undefined)[]): boolean {
  const said = texts.filter((text) => text !== undefined && text !== '').map((text) => plain(text!));
  return [subjects].flat().some((subject) => {
    const { latin, spaced, unspaced } = patterns[subject];
    return said.some(
      (text) => latin.test(text) || (isNotAscii.test(text) && (spaced.test(text) || unspaced.test(text))),
    );
  });
}

/** The words after "Sign in with", in languages in which the words of this phrase stay together. */
export function signInName(text: string): string | undefined {
  return signInWith.map((pattern) => pattern.exec(text.trim())?.[1]?.trim()).find(Boolean);
}

/** The name of a usual SSO provider in a text. */
export function providerIn(text: string): string | undefined {
  return providers.exec(text)?.[0].toLowerCase();
}

/** Normalizes a text: lower case, no accents, basic letters, and the parts of `camelCase` and `snake_case` as words. */
function plain(text: string): string {
  // Removes accents before and after `normalize`, which would need long to sort a row of thousands.
  return text
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .replace(/\p{M}/gu, '')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[łøßæıđœ]/g, (letter) => basic[letter] ?? letter);
}

/** Letters that Unicode doesn't decompose into a letter and an accent. */
const basic: Partial<Record<string, string>> = { ł: 'l', ø: 'o', ß: 'ss', æ: 'ae', ı: 'i', đ: 'd', œ: 'oe' };

const isLatin = /^[a-z]/;
const isSpaced = /^[\p{Script=Cyrillic}\p{Script=Greek}]/u;
const isNotAscii = /\P{ASCII}/u;

const signInWith = words.signInWith.map((pattern) => new RegExp(pattern, 'i'));
const providers = new RegExp(`(?<!\\p{L})(${words.providers.join('|')})(?!\\p{L})`, 'iu');
const patterns = Object.fromEntries(
  Object.entries(words.subjects).map(([subject, list]) => [subject, patternsOf(list)]),
) as Record<Subject, Patterns>;

/**
 * The patterns by script. `unspaced` is for scripts without spaces, and for Arabic and Hebrew, which join particles to
 * the beginnings of words.
 */
type Patterns = { latin: RegExp; spaced: RegExp; unspaced: RegExp };

/** Each word is the beginning of a word in a text, or a whole word if it has `=` in front. */
function patternsOf(list: string[]): Patterns {
  const found = list.map((word) => {
    const text = plain(word.replace(/^=/, '')).trim();
    const pattern = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' ', "[\\s'’.-]*");
    return { text, pattern: pattern + (word.startsWith('=') ? '(?!\\p{L})' : '') };
  });
  const anyOf = (start: string, isOne: (text: string) => boolean) => {
    const alternatives = found.filter(({ text }) => isOne(text)).map(({ pattern }) => pattern);
    return new RegExp(alternatives.length > 0 ? `${start}(?:${alternatives.join('|')})` : '(?!)', 'u');
  };
  return {
    latin: anyOf('(?<![a-z])', (text) => isLatin.test(text)),
    spaced: anyOf('(?<!\\p{L})', (text) => isSpaced.test(text)),
    unspaced: anyOf('', (text) => !isLatin.test(text) && !isSpaced.test(text)),
  };
}
