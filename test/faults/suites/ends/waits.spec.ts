import { made, test } from '../held.ts';

test.beforeAll(() => made('spins'));
test('waits', () => console.log('it has the browser'));
