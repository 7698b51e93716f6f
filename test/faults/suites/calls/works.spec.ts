import { test } from '../held.ts';

test('works', () => {});
