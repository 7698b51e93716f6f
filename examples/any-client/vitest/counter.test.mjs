import { expect, test } from 'vitest';
import { page } from 'vitest/browser';

test('counts clicks', async () => {
  document.body.innerHTML = '<button onclick="this.textContent = Number(this.textContent) + 1">0</button>';
  const button = page.getByRole('button');
  await button.click();
  await expect.element(button).toHaveTextContent('1');
});
