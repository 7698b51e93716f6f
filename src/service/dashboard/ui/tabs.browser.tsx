import { hrefOf } from '../app/place.browser.ts';

/** Links to the parts of a view. The parameter `tab` of the URL names the part; the first part has none. */
export function Tabs({
  view,
  tabs,
  current,
  project,
}: {
  view: string;
  tabs: readonly (readonly [id: string, title: string])[];
  current: string;
  project: string | undefined;
}) {
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
