// Incidents: unhealthy parts with one root cause, worst loss first; closed ones; and one of them in full.
import { type Loaded, useQuery } from "../api";
import { saveFile } from "../drawing/save";
import { Seed } from "../health";
import { useAsOf } from "../live";
import { CopyQueries, Failure, Reason } from "../parts";
import { change, href, oneOf, type Route } from "../route";
import { formatDateTime, shownTime } from "../state";
import "../style/incidents.css";
import "../style/tabs.css";
import { csv, type Rows } from "../table/rows";
import { Timeline } from "../timeline";
import { number } from "../words";
import { QUERY as CHECKS, Checks } from "./checks";
import { CLOSED_QUERY, type ClosedIncident, type IncidentsAnswer, placeOf, QUERY } from "./documents";
import { ClosedPanel, OpenPanel } from "./incident";
import { ClosedTable, ListTools, OpenTable } from "./list";
import { closedCsv, clustersOf, describeParts, type Filters, filterClosed, filterOpen, openCsv } from "./rows";
import { Unapplied } from "./unapplied";

const SHOWN = { open: "open", closed: "closed" } as const;
/** The most closed incidents that the API lists. */
const MOST_CLOSED = 200;
/** Closed incidents below the open ones. */
const RECENT = 3;
const DAY = 86_400_000;

export function Incidents({ route }: { route: Route }) {
  const loaded = useQuery(QUERY);
  const resolved = useQuery(CLOSED_QUERY);
  const { options } = route;
  const shows = oneOf(SHOWN, options.show, "open");
  const closed = resolved.data?.closedIncidents.nodes;
  const edges = loaded.data?.incidents.edges ?? [];
  const filters: Filters = {
    where: options.where ?? "",
    severity: options.severity ?? "",
    state: options.state ?? "",
    cluster: options.cluster ?? "",
  };
  const open = filterOpen(
    edges.map(({ node }) => node),
    filters,
  );
  const past = filterClosed(closed ?? [], filters);
  const sel = options.sel ?? "";
  const cursors = new Map(edges.map(({ node }, index) => [node.id, edges[index - 1]?.cursor ?? null]));
  const chosen = edges.find(({ node }) => node.id === sel)?.node;
  const chosenClosed = chosen ? undefined : closed?.find(({ id }) => id === sel);
  const summary =
    shows === "open" ? loaded.data && summarize(loaded.data) : closed && `${number(closed.length)} closed`;
  const isEmpty = loaded.data?.clusters.totalCount === 0;
  return (
    <article class="incidents">
      <header class="title">
        <h1>Incidents</h1>
        <p class={shows === "open" ? undefined : "brief"} title={summary}>
          {summary}
        </p>
        <div class="tools">
          <SaveCsv name={shows} rows={shows === "open" ? loaded.data && openCsv(open) : closed && closedCsv(past)} />
          <CopyQueries queries={[QUERY, CLOSED_QUERY, CHECKS]} />
        </div>
      </header>
      {isEmpty ? (
        <Seed />
      ) : (
        <div class={sel ? "columns" : undefined}>
          <div>
            <section class="card flush list" aria-label={shows === "open" ? "Open incidents" : "Closed incidents"}>
              <ListTools
                shows={shows}
                counts={{ open: count(loaded.data?.incidents.totalCount), closed: count(closed?.length) }}
                filters={filters}
                clusters={clustersOf(shows === "open" ? edges.map(({ node }) => node) : (closed ?? []))}
              />
              {shows === "open" && loaded.data && loaded.data.unappliedFindingCount > 0 && (
                <p class="inner">
                  <Unapplied count={loaded.data.unappliedFindingCount} />
                </p>
              )}
              <List result={shows === "open" ? loaded : resolved}>
                {shows === "open" ? (
                  <OpenList data={loaded.data} shown={open.length} closed={closed}>
                    <OpenTable incidents={open} sel={sel} />
                  </OpenList>
                ) : past.length ? (
                  <ClosedTable incidents={past} sel={sel} />
                ) : (
                  <p class="inner quiet">{closed?.length ? <NoMatch /> : "No incident has closed yet."}</p>
                )}
              </List>
            </section>
            {loaded.data && resolved.data && (
              <p class="quiet">
                {shows === "open"
                  ? "The most severe come first, and of these the worst loss. GB/s lost: NeuronLinks of chips and switches, EFA links of NICs, one direction."
                  : `Latest first, the last ${MOST_CLOSED} at most. An incident closes once all of its parts are up again.`}
              </p>
            )}
            {shows === "open" && loaded.data && closed && <Recent closed={closed} />}
            {/* what is below the list comes with it, so that nothing moves */}
            {loaded.data && (resolved.data || resolved.error) && (
              <>
                <Timeline span={options.span} usual={shows === "open" ? "24h" : "7d"} />
                <Checks />
              </>
            )}
          </div>
          {chosen && <OpenPanel incident={chosen} after={cursors.get(sel) ?? null} />}
          {chosenClosed && <ClosedPanel incident={chosenClosed} />}
          {sel && !chosen && !chosenClosed && (
            <aside class="card panel to-come" aria-label={`Incident ${sel.slice(0, 80)}`}>
              {loaded.data && resolved.data && (
                <p class="quiet">Incident {sel.slice(0, 80)} is not open at this time.</p>
              )}
            </aside>
          )}
        </div>
      )}
    </article>
  );
}

const SaveCsv = ({ name, rows }: { name: string; rows: Rows | undefined }) => (
  <button
    type="button"
    disabled={!rows}
    onClick={() => rows && saveFile(`incidents-${name}.csv`, csv(rows), "text/csv")}
  >
    Download CSV
  </button>
);

const count = (value: number | undefined) => (value === undefined ? "" : number(value));

function summarize({ incidents: { totalCount, edges } }: IncidentsAnswer): string {
  return totalCount ? `${number(totalCount)} open: ${describeParts(edges.map(({ node }) => node))}` : "";
}

/** The rows once they are loaded; until then as much space as a few of them take. */
function List({ result, children }: { result: Loaded<unknown>; children: preact.ComponentChildren }) {
  if (result.error && result.data === undefined)
    return (
      <div class="inner">
        <Failure error={result.error} again={result.again} query={result.query} />
      </div>
    );
  if (result.data === undefined) return <div class="rows-to-come" aria-busy="true" />;
  return (
    <div class={result.loading ? "stale" : ""} aria-busy={result.loading}>
      {children}
    </div>
  );
}

interface OpenListProps {
  data: IncidentsAnswer | undefined;
  shown: number;
  closed: ClosedIncident[] | undefined;
  children: preact.ComponentChildren;
}

function OpenList({ data, shown, closed, children }: OpenListProps) {
  if (!data) return null;
  const { edges, totalCount } = data.incidents;
  if (!edges.length) return <Nothing last={closed?.[0]} />;
  return (
    <>
      {shown ? (
        children
      ) : (
        <p class="inner quiet">
          <NoMatch />
        </p>
      )}
      {totalCount > edges.length && (
        <p class="inner quiet">
          Showing the first {edges.length} of {number(totalCount)}. List all with <code>trninv incidents</code>.
        </p>
      )}
    </>
  );
}

const NoMatch = () => (
  <>
    No incident matches.{" "}
    <button
      type="button"
      onClick={() => change({ where: undefined, severity: undefined, state: undefined, cluster: undefined })}
    >
      Clear filters
    </button>
  </>
);

function Nothing({ last }: { last: ClosedIncident | undefined }) {
  return (
    <div class="inner">
      <p>No open incidents. Every part is up.</p>
      {last && (
        <p class="quiet">
          Last resolved: <a href={href("at", placeOf(last))}>{placeOf(last)}</a>, {formatDateTime(last.closedAt)},{" "}
          {last.closedBy}: <Reason text={last.closedWhy} />
        </p>
      )}
    </div>
  );
}

/** The incidents that closed last, and how many closed within a day. */
function Recent({ closed }: { closed: ClosedIncident[] }) {
  const now = shownTime(useAsOf().asof);
  const recent = closed.filter(({ closedAt }) => now - Date.parse(closedAt) < DAY);
  if (!recent.length) return null;
  return (
    <section class="card flush" aria-labelledby="closed">
      <h2 id="closed">
        Closed within 24 h <span class="quiet">{number(recent.length)}</span>
        <a class="more" href={href("incidents", "", { show: "closed" })}>
          All {number(closed.length)} closed
        </a>
      </h2>
      <ClosedTable incidents={recent.slice(0, RECENT)} sel="" />
    </section>
  );
}
