import { expect, type Page } from '@playwright/test';
import axe from 'axe-core';

/** Fails if axe finds a violation in the view as it is shown now, light or dark. */
export async function expectAccessible(page: Page): Promise<void> {
  // Evaluating passes the view's content security policy.
  await page.evaluate(axe.source);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const violations = await page.evaluate(async () => {
      const axe = (globalThis as unknown as { axe: typeof import('axe-core') }).axe;
      const { violations } = await axe.run({ exclude: ['iframe'] });
      return violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) }));
    });
    expect(violations, colorScheme).toEqual([]);
  }
}
