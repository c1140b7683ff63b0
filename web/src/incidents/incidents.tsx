// Incidents: unhealthy parts with one root cause, their impact, and the place as it was before.
import { useQuery } from "../api";
import { useAsOf } from "../live";
import { CopyQueries, Loading } from "../parts";
import { href, type Route } from "../route";
import { type Column, Row, SimpleTable } from "../simpletable";
import { formatDateTime, formatDuration, Glyph, nounOf, shownTime, stateWord } from "../state";
import { Timeline } from "../timeline";
import { number, pluralize, shortenAddress } from "../words";
import { QUERY as CHECKS, Checks } from "./checks";
import { type Incident, type IncidentsAnswer, placeOf, QUERY, stateOf } from "./documents";
import { Opened } from "./incident";

export function Incidents({ route }: { route: Route }) {
  const loaded = useQuery(QUERY);
  return (
    <article>
      <header class="title">
        <h1>Incidents</h1>
        {loaded.data && <p>{summarize(loaded.data)}</p>}
        <div class="tools">
          <CopyQueries queries={[QUERY, CHECKS]} />
        </div>
      </header>
      <Timeline span={route.options.span} />
      <Loading result={loaded}>{(data) => <Filled data={data} sel={route.options.sel ?? ""} />}</Loading>
      <Checks />
    </article>
  );
}

function summarize({ incidents: { totalCount, edges } }: IncidentsAnswer): string {
  const counts = new Map<string, number>();
  for (const { kind, count } of edges.flatMap(({ node }) => node.parts))
    counts.set(kind, (counts.get(kind) ?? 0) + count);
  const parts = [...counts].map(([kind, count]) => pluralize(count, nounOf(kind)));
  return totalCount
    ? `${pluralize(totalCount, "root cause")} ${totalCount === 1 ? "explains" : "explain"} all unhealthy parts: ${parts.join(", ")}`
    : "";
}

/** Why several causes are one incident. */
const RULES: Record<string, string> = { rack: "in one rack within five minutes", change: "set in one change" };

function Filled({ data, sel }: { data: IncidentsAnswer; sel: string }) {
  const { edges, totalCount } = data.incidents;
  const index = edges.findIndex(({ node }) => node.id === sel);
  const open = edges[index]?.node;
  if (!edges.length) return <Nothing data={data} />;
  return (
    <div class={open ? "columns" : undefined}>
      <section class="card flush" aria-label="Open incidents">
        <Table nodes={edges.map(({ node }) => node)} sel={sel} />
        {totalCount > edges.length && (
          <p class="inner quiet">
            Showing the first {edges.length} of {number(totalCount)}. List all with <code>trninv incidents</code>.
          </p>
        )}
      </section>
      {open && <Opened incident={open} after={edges[index - 1]?.cursor ?? null} />}
      {sel && !open && <p class="card quiet">Incident {sel} is not open at this time.</p>}
    </div>
  );
}

function Nothing({ data }: { data: IncidentsAnswer }) {
  const last = data.events.nodes[0];
  return (
    <section class="card">
      <p>No open incidents. Every part is up.</p>
      {last && (
        <p class="quiet">
          Last resolved: <a href={href("at", last.address)}>{last.address}</a>, {formatDateTime(last.at)}, {last.who}:{" "}
          {last.why}
        </p>
      )}
    </section>
  );
}

const COLUMNS: Column[] = [["Root cause"], ["Reason"], ["Impact", "roomy"], ["Who", "roomy"], ["Open for", "number"]];

function Table({ nodes, sel }: { nodes: Incident[]; sel: string }) {
  const { asof } = useAsOf();
  return (
    <SimpleTable name="Incidents" columns={COLUMNS} isPick>
      {nodes.map((incident) => (
        <Row
          key={incident.id}
          content={JSON.stringify([incident.parts, incident.why])}
          isSelected={incident.id === sel}
        >
          <th scope="row">
            <a
              class="cause"
              href={href("incidents", "", { sel: incident.id === sel ? undefined : incident.id })}
              aria-current={incident.id === sel ? "true" : undefined}
            >
              <Glyph state={stateOf(incident)} />
              <span class="unseen">{stateOf(incident)}: </span>
              {shortenAddress(placeOf(incident))}
            </a>
            {incident.causeCount > 1 && (
              <span class="quiet">
                {pluralize(incident.causeCount, "cause")}, {RULES[incident.rule]}
              </span>
            )}
          </th>
          <td>{incident.why ?? <span class="quiet">no reason given</span>}</td>
          <td class="roomy">
            {incident.parts
              .map(({ kind, state, count }) => `${pluralize(count, nounOf(kind))} ${stateWord(state)}`)
              .join(", ")}
          </td>
          <td class="roomy">{incident.who}</td>
          <td class="number">{incident.startedAt ? formatDuration(incident.startedAt, shownTime(asof)) : "unknown"}</td>
        </Row>
      ))}
    </SimpleTable>
  );
}
