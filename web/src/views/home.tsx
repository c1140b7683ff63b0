// The fleet: what is not up, whatever its kind, and why; clusters worst first.
import { asking, graphql, type Loaded, type Result, useAsked } from "../api";
import { Became, became } from "../happened";
import { Bar, type Health, healthOf, Seed, tally } from "../health";
import { type Column, Listed, Row } from "../listed";
import { useTurn } from "../live";
import { Copy, Shown } from "../parts";
import { href } from "../route";
import { type Count, Counts, dated, Glyph, lasted, nounOf, now, Told, worded } from "../state";
import { Timeline } from "../timeline";
import { counted, number, shortened } from "../words";

const HOME = graphql(`
  query Home {
    clusters(first: 1000) {
      nodes {
        slug system
        domains(first: 1) { totalCount nodes { address model wiring } }
        racks(first: 1) { totalCount nodes { address } }
        chips(first: 1) { totalCount }
      }
    }
    systems { slug name chips }
    all: servers(first: 1) { aggregates(by: [CLUSTER]) { cluster count } }
    live: servers(first: 1, filter: { instance: { ne: null } }) { aggregates(by: [CLUSTER]) { cluster count } }
    chip: chips(first: 1, filter: { state: { ne: UP } }) { aggregates(by: [CLUSTER, STATE]) { cluster state count } }
    server: servers(first: 1, filter: { state: { ne: UP } }) { aggregates(by: [CLUSTER, STATE]) { cluster state count } }
    switch: switches(first: 1, filter: { state: { ne: UP } }) { aggregates(by: [CLUSTER, STATE]) { cluster state count } }
    nic: nics(first: 1, filter: { state: { ne: UP } }) { aggregates(by: [CLUSTER, STATE]) { cluster state count } }
    node: networkNodes(first: 1, filter: { state: { ne: UP } }) { aggregates(by: [CLUSTER, STATE]) { cluster state count } }
    link: links(first: 1, filter: { state: { ne: UP } }) { aggregates(by: [CLUSTER, STATE]) { cluster state count } }
  }
`);

const OPEN = graphql(`
  query HomeIncidents {
    incidents(first: 8) {
      totalCount
      nodes { id severity place causes causeCount startedAt who why parts { kind state count } }
    }
    drift(first: 1) { totalCount }
    driftComparedAt
    events(last: 8, filter: { takenAlong: { eq: false } }) { nodes { event at who address before after action job why } }
  }
`);

const CLUSTERS = asking(HOME, {});
const INCIDENTS = asking(OPEN, {});
type Clusters = Result<typeof HOME>;
type Open = Result<typeof OPEN>;

export function Home({ span }: { span: string | undefined }) {
  const [clusters, open] = [useAsked(CLUSTERS), useAsked(INCIDENTS)];
  const servers = clusters.data?.all.aggregates.reduce((sum, { count }) => sum + count, 0) ?? 0;
  return (
    <article class="home">
      <header class="title">
        <h1>Fleet</h1>
        {clusters.data && (
          <p>
            {counted(clusters.data.clusters.nodes.length, "cluster")}, {counted(servers, "server")}
          </p>
        )}
        <div class="tools">
          <Copy asked={[CLUSTERS, INCIDENTS]} />
        </div>
      </header>
      <Shown of={clusters}>
        {(data) => (data.clusters.nodes.length ? <Filled data={data} open={open} span={span} /> : <Seed />)}
      </Shown>
      {clusters.error && !clusters.data && <Happened open={open} />}
    </article>
  );
}

function Filled({ data, open, span }: { data: Clusters; open: Loaded<Open>; span: string | undefined }) {
  const health = healthOf(data);
  const seeded = new Set(data.clusters.nodes.map(({ system }) => system));
  const missing = data.systems.filter(({ slug }) => !seeded.has(slug));
  return (
    <>
      <Tiles health={health} open={open.data} />
      <div class="columns">
        <div>
          <section class="card flush" aria-labelledby="clusters">
            <h2 id="clusters">
              Clusters <span class="quiet">worst first</span>
            </h2>
            <Listed name="Clusters" columns={COLUMNS}>
              {health.map((each) => (
                <Line key={each.slug} of={each} />
              ))}
            </Listed>
            {missing.length > 0 && (
              <details class="foot">
                <summary>{counted(missing.length, "system")} not seeded here</summary>
                <ul class="plain">
                  {missing.map(({ slug, name, chips }) => (
                    <li key={slug}>
                      <code>trninv seed {slug}</code> <span class="quiet">{`${name}, ${counted(chips, "chip")}`}</span>
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </section>
          <Timeline span={span} />
        </div>
        <Happened open={open} />
      </div>
    </>
  );
}

function Happened({ open }: { open: Loaded<Open> }) {
  return (
    <aside aria-label="What happened">
      <Shown of={open}>
        {(data) => (
          <>
            <OpenIncidents open={data} />
            <Changes events={data.events.nodes} />
          </>
        )}
      </Shown>
    </aside>
  );
}

function Tiles({ health, open }: { health: Health[]; open: Open | undefined }) {
  const chips = tally(health.flatMap(({ notUp }) => notUp).filter(({ kind }) => kind === "chip"));
  const others = tally(health.flatMap(({ notUp }) => notUp).filter(({ kind }) => kind !== "chip"));
  const all = health.reduce((sum, each) => sum + each.chips, 0);
  const lost = chips.reduce((sum, { count }) => sum + count, 0);
  const parts = others.reduce((sum, { count }) => sum + count, 0);
  const live = health.filter((each) => each.live > 0).length;
  return (
    <div class="tiles">
      <a class="card tile" href={href("reports", "unhealthy")}>
        <h2>Chips up</h2>
        <p class="big">
          <strong>{number(all - lost)}</strong> of {number(all)}
        </p>
        <Bar chips={all} of={chips} />
        <p class="states">{lost ? <Counts of={chips} bare /> : <Told state="up">all chips up</Told>}</p>
      </a>
      <a class="card tile" href={href("incidents")}>
        <h2>Servers, switches, links, NICs</h2>
        <p class="big">
          <strong>{number(parts)}</strong> not up
        </p>
        <p class="states">{parts ? <Counts of={others} /> : <Told state="up">all of them up</Told>}</p>
      </a>
      <a class="card tile" href={href("incidents")}>
        <h2>Incidents open</h2>
        <p class="big">
          <strong>{open ? number(open.incidents.totalCount) : "…"}</strong>{" "}
          {open?.incidents.totalCount === 1 ? "root cause" : "root causes"}
        </p>
        {open && <Oldest open={open} />}
      </a>
      <div class="card tile">
        <h2>Live</h2>
        <p class="big">
          <strong>{number(live)}</strong> of {counted(health.length, "cluster")}
        </p>
        <p class="quiet">
          {live < health.length && `${number(health.length - live)} by design only: no instances bound`}
        </p>
        {open && (
          <p class={open.drift.totalCount ? "warned" : "quiet"}>
            {open.comparedAt
              ? `Drift: ${counted(open.drift.totalCount, "finding")}, compared ${dated(open.comparedAt)}`
              : "Never compared with what was seen (trninv drift)"}
          </p>
        )}
      </div>
    </div>
  );
}

function Oldest({ open }: { open: Open }) {
  const { asof } = useTurn();
  const nodes = open.incidents.nodes.filter(({ since }) => since);
  const oldest = nodes.reduce(
    (least, each) => (!least || (each.since ?? "") < (least.since ?? "") ? each : least),
    nodes[0],
  );
  if (!oldest) return <p class="quiet">Nothing is open.</p>;
  return (
    <p class="quiet">
      Oldest {open.incidents.totalCount > open.incidents.nodes.length && "of the worst "}
      {lasted(oldest.since ?? "", now(asof))}: {oldest.place}
    </p>
  );
}

const COLUMNS: Column[] = [
  ["Cluster"],
  ["Chips", "number"],
  ["Servers", "number roomy"],
  ["Health", "roomy"],
  ["Not up"],
  ["Known by", "roomy"],
];

function Line({ of }: { of: Health }) {
  return (
    <Row tells={JSON.stringify([of.notUp, of.live])}>
      <th scope="row">
        <a href={of.alone ? href("domain", of.alone) : href("cluster", of.slug)}>{of.slug}</a>
        <span class="quiet">{of.model}</span>
        {of.rack && (
          <span class="quiet">
            <a href={href("rack", of.rack)}>{counted(of.racks, "rack")}</a>
          </span>
        )}
      </th>
      <td class="number">{number(of.chips)}</td>
      <td class="number roomy">{number(of.servers)}</td>
      <td class="roomy">
        <Bar chips={of.chips} of={of.notUp.filter(({ kind }: Count) => kind === "chip")} />
      </td>
      <td class="states">{of.notUp.length ? <Counts of={of.notUp} /> : <Told state="up">all up</Told>}</td>
      <td class="roomy quiet">{of.live ? `${number(of.live)} of ${counted(of.servers, "host")}` : "design"}</td>
    </Row>
  );
}

function OpenIncidents({ open: { incidents } }: { open: Open }) {
  const { asof } = useTurn();
  return (
    <section class="card flush" aria-labelledby="open">
      <h2 id="open">
        Incidents{" "}
        <a class="more" href={href("incidents")}>
          All {number(incidents.totalCount)}
        </a>
      </h2>
      {incidents.totalCount === 0 && <p class="inner">Nothing is open: every part is up.</p>}
      <ul class="rows">
        {incidents.nodes.map((each) => (
          <li key={each.id}>
            <a href={href("incidents", "", { sel: each.id })}>
              <Glyph state={each.parts.find(({ state }) => state === "down")?.state ?? each.parts[0]?.state ?? "up"} />
              <span>
                <strong>{shortened(each.place ?? each.causes[0] ?? "")}</strong>
                <span class="reason">{each.why ?? "No reason is known"}</span>
                <span class="quiet">
                  {each.parts
                    .map(({ kind, state, count }) => `${counted(count, nounOf(kind))} ${worded(state)}`)
                    .join(", ")}
                  {each.who && ` · ${each.who}`}
                </span>
              </span>
              <span class="quiet">{each.since && lasted(each.since, now(asof))}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Changes({ events }: { events: Open["events"]["nodes"] }) {
  if (!events.length) return null;
  return (
    <section class="card flush" aria-labelledby="changes">
      <h2 id="changes">Last changes</h2>
      <ul class="rows">
        {[...events].reverse().map((event) => (
          <li key={event.event}>
            <a href={href("at", event.address)}>
              <Became event={event} />
              <span>
                <strong>{shortened(event.address)}</strong>
                <span class="quiet">
                  {became(event)}, {event.who}
                </span>
              </span>
              <span class="quiet">{lasted(event.at)} ago</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
