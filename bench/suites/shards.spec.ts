import { test } from '@playwright/test';

// As many tests as BENCH_TESTS says, in groups of 20.
const tests = Number(process.env['BENCH_TESTS']);

for (let group = 0; group < tests / 20; group++) {
  test.describe(`group ${group}`, () => {
    for (let number = 0; number < 20; number++) test(`a customer changes order ${number} of the shop`, () => {});
  });
}
