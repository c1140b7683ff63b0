// The navigation rail, with the number of open incidents.
import { graphql, makeQuery, useQuery } from "../api";
import { href } from "../route";
import { Icon, type IconName } from "./icons";

const SHELL = graphql(`
  query Shell {
    incidents(first: 100) { totalCount nodes { severity } }
    discoveries(first: 1) { totalCount }
    observations(first: 1) { totalCount }
  }
`);

const QUERY = makeQuery(SHELL, {});

/** What the rail and the bar show on every page. */
export const useShell = () => useQuery(QUERY).data;

const PLACES: [string, IconName, string, string[]][] = [
  ["home", "fleet", "Fleet", ["cluster", "domain", "rack", "at", "measured"]],
  ["incidents", "incidents", "Incidents", ["findings"]],
  ["jobs", "jobs", "Jobs", []],
  ["compare", "compare", "Compare", []],
  ["reports", "reports", "Reports", []],
  ["query", "query", "Query", []],
  ["sources", "sources", "Sources", ["disagreements"]],
];

export function Rail({ view, data }: { view: string; data: ReturnType<typeof useShell> }) {
  const high = data?.incidents.nodes.some(({ severity }) => severity === "high");
  const open = data?.incidents.totalCount ?? 0;
  return (
    <nav class="rail" aria-label="Main">
      {PLACES.map(([place, icon, label, within]) => (
        <a
          key={place}
          href={href(place)}
          class={within.includes(view) ? "within" : undefined}
          aria-current={view === place ? "page" : undefined}
        >
          <Icon name={icon} />
          <span>{label}</span>
          {place === "incidents" && open > 0 && (
            <span class={high ? "badge" : "badge mild"}>
              {open}
              <span class="unseen"> open</span>
            </span>
          )}
        </a>
      ))}
      <a href="docs/">
        <Icon name="docs" />
        <span>Docs</span>
      </a>
    </nav>
  );
}
