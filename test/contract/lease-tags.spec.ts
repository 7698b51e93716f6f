import { testTag, testTagOf, testTitleOf } from '../../src/contract/lease-tags.ts';
import { tags } from '../../src/contract/values.ts';
import { expect, test } from '../support/worker.ts';

for (const title of ['login.spec.ts:3 › logs in', 'a=b, "quoted" & 100 %', 'größer als 日本 🎉', '', '=41']) {
  test(`writes the test title "${title}" as a session tag, and reads it again`, () => {
    const tagged = tags.parse({ [testTag]: testTagOf(title) });
    expect(testTitleOf(tagged)).toBe(title);
  });
}

test('cuts a long test title between two characters', () => {
  const tagged = tags.parse({ [testTag]: testTagOf('日'.repeat(100)) });
  expect(testTitleOf(tagged)).toBe('日'.repeat(28));
});

test('shows a tag of another client unchanged', () => {
  expect(testTitleOf({ [testTag]: 'a=b' })).toBe('a=b');
  expect(testTitleOf({})).toBeUndefined();
});
