import { made, test } from '../held.ts';

test('fails', async () => {
  console.log('in use');
  await made('done');
  throw new Error('on purpose');
});

test('works', () => {});
