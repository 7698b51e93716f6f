import { setParams } from '../app/place.browser.ts';

/** The text field that filters a view. The parameter `q` of the URL has its text. A new text starts at the first list page. */
export function Filter({ label, value }: { label: string; value: string | undefined }) {
  return (
    <input
      type="search"
      class="filter"
      aria-label={label}
      placeholder={label}
      value={value ?? ''}
      onInput={({ currentTarget }) => setParams({ q: currentTarget.value, offset: undefined, before: undefined })}
    />
  );
}
