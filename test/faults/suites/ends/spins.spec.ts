import { writeFileSync } from 'node:fs';
import { beside, test } from '../held.ts';

test('spins', () => {
  writeFileSync(beside('spins'), String(process.pid));
  for (;;);
});
