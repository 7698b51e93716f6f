import { test as components, expect } from '@playwright/experimental-ct-react';
import { mergeTests, test as pooled } from 'playwright-pool';
import { Counter } from './counter';

const test = mergeTests(components, pooled);

for (const start of [3, 5])
  test(`counts from ${start}`, async ({ mount, remote }) => {
    const counter = await mount(<Counter start={start} />);
    await counter.click();
    await expect(counter).toHaveText(String(start + 1));
    expect(remote.session.pool).toBeTruthy();
  });
