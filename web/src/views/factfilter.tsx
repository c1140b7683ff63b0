// The head of a page of facts: an index of its sections, and a filter in the address.
import { change, href } from "../route";

export interface Section {
  /** Empty: all. */
  id: string;
  name: string;
  count: number;
}

interface Props {
  view: string;
  sections: Section[];
  chosen: string;
  where: string;
  placeholder: string;
}

export function FactFilter({ view, sections, chosen, where, placeholder }: Props) {
  return (
    <div class="fact-index">
      <nav class="scroll" aria-label="Sections">
        {sections.map(({ id, name, count }) => (
          <a key={id} href={href(view, id)} aria-current={id === chosen && !where ? "page" : undefined}>
            {name} <span class="quiet">{count}</span>
          </a>
        ))}
      </nav>
      <label>
        <span class="unseen">Filter</span>
        <input
          type="search"
          name="where"
          aria-keyshortcuts="F"
          placeholder={placeholder}
          value={where}
          onInput={(event) => change({ where: event.currentTarget.value || undefined, of: undefined }, true)}
        />
      </label>
    </div>
  );
}
