import type { Page } from '@playwright/test';

/** The lowest contrast ratio (WCAG 2) of visible text in the page to its background. */
export function lowestContrast(page: Page): Promise<number> {
  return page.evaluate(() => {
    const parts = /[\d.]+/g;
    const channels = (color: string) => color.match(parts)!.map(Number);
    const luminance = (color: string) => {
      const [red = 0, green = 0, blue = 0] = channels(color).map((channel) =>
        channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4,
      );
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const backgroundOf = (element: Element | null): string => {
      if (!element) return 'rgb(255, 255, 255)';
      const { backgroundColor } = getComputedStyle(element);
      return channels(backgroundColor)[3] === 0 ? backgroundOf(element.parentElement) : backgroundColor;
    };
    const ratios = [...document.body.querySelectorAll('*')]
      .filter((element) =>
        [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim()),
      )
      .filter((element) => element.checkVisibility() && !element.matches('script, option'))
      .map((element) => {
        const [darker = 0, lighter = 0] = [
          luminance(getComputedStyle(element).color),
          luminance(backgroundOf(element)),
        ].sort((a, b) => a - b);
        return (lighter + 0.05) / (darker + 0.05);
      });
    return Math.min(...ratios);
  });
}
