import { test } from 'playwright-pool';

test('needs no browser', () => {});
