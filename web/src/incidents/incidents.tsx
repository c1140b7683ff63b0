// Incidents: what is not up for one reason, what it costs, and what it was like before.
import { useAsked } from "../api";
import { type Column, Listed, Row } from "../listed";
import { useTurn } from "../live";
import { Copy, Shown } from "../parts";
import { href, type Route } from "../route";
import { dated, Glyph, lasted, nounOf, now, worded } from "../state";
import { Timeline } from "../timeline";
import { counted, number, shortened } from "../words";
import { ASKED, type Found, type Incident, placeOf, stateOf } from "./documents";
import { Opened } from "./incident";

export function Incidents({ route }: { route: Route }) {
  const loaded = useAsked(ASKED);
  return (
    <article>
      <header class="title">
        <h1>Incidents</h1>
        {loaded.data && <p>{explained(loaded.data)}</p>}
        <div class="tools">
          <Copy queries={[ASKED]} />
        </div>
      </header>
      <Timeline span={route.options.span} />
      <Shown result={loaded}>{(data) => <Filled data={data} sel={route.options.sel ?? ""} />}</Shown>
    </article>
  );
}

function explained({ incidents: { totalCount, edges } }: Found): string {
  const counts = new Map<string, number>();
  for (const { kind, count } of edges.flatMap(({ node }) => node.parts))
    counts.set(kind, (counts.get(kind) ?? 0) + count);
  const parts = [...counts].map(([kind, count]) => counted(count, nounOf(kind)));
  return totalCount
    ? `${counted(totalCount, "root cause")} ${totalCount === 1 ? "explains" : "explain"} all unhealthy parts: ${parts.join(", ")}`
    : "";
}

/** Why several causes are one incident. */
const RULES: Record<string, string> = { rack: "in one rack within five minutes", change: "set in one change" };

function Filled({ data, sel }: { data: Found; sel: string }) {
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

function Nothing({ data }: { data: Found }) {
  const last = data.events.nodes[0];
  return (
    <section class="card">
      <p>No open incidents. Every part is up.</p>
      {last && (
        <p class="quiet">
          Last resolved: <a href={href("at", last.address)}>{last.address}</a>, {dated(last.at)}, {last.who}: {last.why}
        </p>
      )}
    </section>
  );
}

const COLUMNS: Column[] = [["Root cause"], ["Reason"], ["Impact", "roomy"], ["Who", "roomy"], ["Open for", "number"]];

function Table({ nodes, sel }: { nodes: Incident[]; sel: string }) {
  const { asof } = useTurn();
  return (
    <Listed name="Incidents" columns={COLUMNS} isPick>
      {nodes.map((incident) => (
        <Row key={incident.id} tells={JSON.stringify([incident.parts, incident.why])} isChosen={incident.id === sel}>
          <th scope="row">
            <a
              class="cause"
              href={href("incidents", "", { sel: incident.id === sel ? undefined : incident.id })}
              aria-current={incident.id === sel ? "true" : undefined}
            >
              <Glyph state={stateOf(incident)} />
              <span class="unseen">{stateOf(incident)}: </span>
              {shortened(placeOf(incident))}
            </a>
            {incident.causeCount > 1 && (
              <span class="quiet">
                {counted(incident.causeCount, "cause")}, {RULES[incident.rule]}
              </span>
            )}
          </th>
          <td>{incident.why ?? <span class="quiet">no reason given</span>}</td>
          <td class="roomy">
            {incident.parts
              .map(({ kind, state, count }) => `${counted(count, nounOf(kind))} ${worded(state)}`)
              .join(", ")}
          </td>
          <td class="roomy">{incident.who}</td>
          <td class="number">{incident.startedAt ? lasted(incident.startedAt, now(asof)) : "unknown"}</td>
        </Row>
      ))}
    </Listed>
  );
}
