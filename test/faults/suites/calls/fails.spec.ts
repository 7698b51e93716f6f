import { expect, test } from '../held.ts';

test('fails', () => expect(1).toBe(2));
