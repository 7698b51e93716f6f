import { hrefOf, setParams } from '../app/place.browser.ts';

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

type Pairs = readonly (readonly [id: string, title: string])[];
type ChoiceProps = { label?: string; value: string; options: Pairs; onChange: (value: string) => void };

/** A field that offers a few values. Without a label of its own, it stands in a `<label>`. */
export function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      {options.map(([id, title]) => (
        <option key={id} value={id}>
          {title}
        </option>
      ))}
    </select>
  );
}

type TabsProps = { view: string; tabs: Pairs; current: string; project: string | undefined };

/** Links to the parts of a view. The parameter `tab` of the URL names the part; the first part has none. */
export function Tabs({ view, tabs, current, project }: TabsProps) {
  return (
    <div class="tabs" role="navigation" aria-label="Parts of this view">
      {tabs.map(([id, title], index) => (
        <a
          key={id}
          href={hrefOf(view, { tab: index === 0 ? undefined : id, project })}
          {...(id === current && { 'aria-current': 'page' })}
        >
          {title}
        </a>
      ))}
    </div>
  );
}
