import { useEffect, useState } from 'preact/hooks';

/** `system` follows the operating system. */
export type Theme = 'system' | 'light' | 'dark';

const next: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
const names: Record<Theme, string> = { system: 'Auto', light: 'Light', dark: 'Dark' };
const stored = 'playwright-pool-theme';

/** The chosen theme, and a function that changes it. The browser remembers the choice. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, set] = useState<Theme>(() => {
    const value = localStorage.getItem(stored);
    return value === 'light' || value === 'dark' ? value : 'system';
  });
  useEffect(() => {
    if (theme === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
    localStorage.setItem(stored, theme);
  }, [theme]);
  return [theme, set];
}

export function ThemeButton({ theme, onChange }: { theme: Theme; onChange: (theme: Theme) => void }) {
  return (
    <button type="button" onClick={() => onChange(next[theme])} aria-label={`Colours: ${names[theme]}`}>
      <span class="roomy">Colours: </span>
      {names[theme]}
    </button>
  );
}

/** `dark` or `light`. The component renders again when that changes. */
export function useColours(): string {
  const [colours, set] = useState(coloursNow);
  useEffect(() => {
    const listener = () => set(coloursNow());
    const media = matchMedia('(prefers-color-scheme: dark)');
    media.addEventListener('change', listener);
    const observer = new MutationObserver(listener);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => {
      media.removeEventListener('change', listener);
      observer.disconnect();
    };
  }, []);
  return colours;
}

function coloursNow(): string {
  const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  return document.documentElement.dataset['theme'] ?? system;
}
