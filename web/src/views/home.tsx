// The Fleet page: unhealthy parts of every kind with their reasons, and clusters, worst first.
import { Fragment } from "preact";
import { graphql, type Loaded, makeQuery, type Result, useQuery } from "../api";
import { describeEvent, EventGlyph } from "../events";
import { Miniature } from "../fleet/miniature";
import { Bar, type Health, healthOf, Seed, tally, worstFirst } from "../health";
import { SEVERITIES } from "../incidents/documents";
import { describeParts } from "../incidents/rows";
import { useAsOf } from "../live";
import { BriefReason, CopyQueries, Loading } from "../parts";
import { href } from "../route";
import { type Column, Row, SimpleTable } from "../simpletable";
import {
  type Count,
  Counts,
  formatDuration,
  Glyph,
  nounOf,
  STATES,
  StateLabel,
  shownTime,
  stateWord,
  Warning,
} from "../state";
import { Timeline } from "../timeline";
import { number, pluralize, shortenAddress } from "../words";
import { type Feed, feedsOf } from "./discovery";

const HOME = graphql(`
  query Home {
    clusters(first: 1000) {
      nodes {
        slug system
        domains(first: 4) {
          totalCount
          aggregates(by: [MODEL]) { model count }
          nodes {
            address
            servers(first: 1) { totalCount nodes { chips(first: 1) { totalCount } } }
            switches(first: 1) { totalCount }
          }
        }
        chips(first: 1) { totalCount }
      }
    }
    systems { slug name chips domainModel }
    all: servers(first: 1) { aggregates(by: [CLUSTER]) { cluster count } }
    live: servers(first: 1, filter: { instance: { ne: null } }) { aggregates(by: [CLUSTER]) { cluster count } }
    hosts: servers(first: 1, filter: { instance: { eq: null }, host: { ne: null } }) {
      aggregates(by: [CLUSTER]) { cluster count }
    }
    chip: chips(first: 500, filter: { state: { ne: UP } }) {
      nodes { address state }
      aggregates(by: [CLUSTER, STATE]) { cluster state count }
    }
    server: servers(first: 1, filter: { state: { ne: UP } }) { aggregates(by: [CLUSTER, STATE]) { cluster state count } }
    switch: switches(first: 100, filter: { state: { ne: UP } }) {
      nodes { address state }
      aggregates(by: [CLUSTER, STATE]) { cluster state count }
    }
    nic: nics(first: 100, filter: { state: { ne: UP } }) {
      nodes { address state }
      aggregates(by: [CLUSTER, STATE]) { cluster state count }
    }
    node: networkNodes(first: 1, filter: { state: { ne: UP } }) { aggregates(by: [CLUSTER, STATE]) { cluster state count } }
    link: links(first: 100, filter: { state: { ne: UP } }) {
      nodes { address state }
      aggregates(by: [CLUSTER, STATE]) { cluster state count }
    }
  }
`);

const OPEN = graphql(`
  query HomeIncidents {
    incidents(first: 1000) {
      totalCount
      nodes { id severity place startedAt who why jobs jobCount parts { kind state count } }
    }
    drift(first: 1) { totalCount }
    driftComparedAt
    discoveries(first: 100) { nodes { target readAt late everySeconds error clusters } }
    observations(last: 100) { nodes { source seenAt } }
    events(last: 5, filter: { cascaded: { eq: false } }) { nodes { event at who address before after action job movedFrom why } }
  }
`);

const CLUSTERS = makeQuery(HOME, {});
const INCIDENTS = makeQuery(OPEN, {});
type Clusters = Result<typeof HOME>;
type Open = Result<typeof OPEN>;

export function Home({ span }: { span: string | undefined }) {
  const [clusters, open] = [useQuery(CLUSTERS), useQuery(INCIDENTS)];
  const servers = clusters.data?.all.aggregates.reduce((sum, { count }) => sum + count, 0) ?? 0;
  return (
    <article class="home">
      <header class="title">
        <h1>Fleet</h1>
        <p>
          {clusters.data
            ? `${pluralize(clusters.data.clusters.nodes.length, "cluster")}, ${pluralize(servers, "server")}`
            : "…"}
        </p>
        <div class="tools">
          <CopyQueries queries={[CLUSTERS, INCIDENTS]} />
        </div>
      </header>
      <Loading result={clusters}>
        {(data) => (data.clusters.nodes.length ? <Filled data={data} open={open} span={span} /> : <Seed />)}
      </Loading>
      {clusters.error && !clusters.data && <RecentActivity open={open} />}
    </article>
  );
}

interface FilledProps {
  data: Clusters;
  open: Loaded<Open>;
  span: string | undefined;
}

function Filled({ data, open, span }: FilledProps) {
  const health = healthOf(data);
  const seeded = new Set(data.clusters.nodes.map(({ system }) => system));
  // if all are only designs, the tile says so
  const isLive = health.some(({ live }) => live > 0);
  const missing = data.systems.filter(({ slug }) => !seeded.has(slug));
  return (
    <>
      <Tiles health={health} open={open.data} />
      <div class="columns">
        <div>
          <section class="card flush" aria-labelledby="clusters">
            <h2 id="clusters">
              Clusters{" "}
              <span class="quiet">
                worst first<span class="roomy">; a square is a domain, in small clusters a chip</span>
              </span>
            </h2>
            <SimpleTable name="Clusters" columns={isLive ? [...COLUMNS, ["Source", "roomy"]] : COLUMNS}>
              {health.map((cluster) => (
                <Line
                  key={cluster.slug}
                  health={cluster}
                  sources={open.data && feedsOf(open.data)}
                  hasSource={isLive}
                />
              ))}
            </SimpleTable>
            {missing.length > 0 && (
              <details class="foot">
                <summary>{pluralize(missing.length, "system")} not seeded</summary>
                <ul class="plain">
                  {missing.map(({ slug, name, chips }) => (
                    <li key={slug}>
                      <code>trninv seed {slug}</code>{" "}
                      <span class="quiet">{`${name}, ${pluralize(chips, "chip")}`}</span>
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </section>
          <Timeline span={span} />
        </div>
        <RecentActivity open={open} />
      </div>
    </>
  );
}

function RecentActivity({ open }: { open: Loaded<Open> }) {
  return (
    <aside aria-label="Recent activity">
      <Loading result={open}>
        {(data) => (
          <>
            <OpenIncidents open={data} />
            <Changes events={data.events.nodes} />
          </>
        )}
      </Loading>
    </aside>
  );
}

const total = (counts: Count[]) => counts.reduce((sum, { count }) => sum + count, 0);

function Tiles({ health, open }: { health: Health[]; open: Open | undefined }) {
  const chips = tally(health.flatMap(({ unhealthy: notUp }) => notUp).filter(({ kind }) => kind === "chip"));
  const others = tally(health.flatMap(({ unhealthy: notUp }) => notUp).filter(({ kind }) => kind !== "chip"));
  const all = health.reduce((sum, cluster) => sum + cluster.chips, 0);
  const unhealthyChips = total(chips);
  const parts = total(others);
  const live = health.filter((cluster) => cluster.live > 0).length;
  return (
    <div class="tiles">
      <a class="card tile" href={href("reports", "unhealthy")}>
        <h2>Chips up</h2>
        <p class="big">
          <strong>{number(all - unhealthyChips)}</strong> of {number(all)}
        </p>
        <Bar chips={all} counts={chips} />
        <p class="states">
          {unhealthyChips ? <Counts counts={chips} bare /> : <StateLabel state="up">all chips up</StateLabel>}
        </p>
      </a>
      <a class="card tile" href={href("incidents")}>
        <h2>Servers, switches, links, NICs</h2>
        <p class="big">
          <strong>{number(parts)}</strong> unhealthy
        </p>
        <p class="states">{parts ? <ByState counts={others} /> : <StateLabel state="up">all healthy</StateLabel>}</p>
      </a>
      <a class="card tile" href={href("incidents")}>
        <h2>Incidents</h2>
        <p class="big">
          <strong>{open ? number(open.incidents.totalCount) : "…"}</strong> open
        </p>
        {open ? <Impact open={open} /> : <p class="quiet">…</p>}
      </a>
      <a class={live ? "card tile" : "card tile roomy"} href={href("sources")}>
        <h2>Bound to machines</h2>
        <p class="big">
          <strong>{number(live)}</strong> of {pluralize(health.length, "cluster")}
        </p>
        {open && <Sources open={open} designs={health.length - live} />}
      </a>
    </div>
  );
}

/** Counts by kind with one line per state, worst first: ✕ 1 server, 16 NICs down. */
function ByState({ counts }: { counts: Count[] }) {
  const sorted = [...counts].sort(worstFirst);
  return (
    <>
      {STATES.filter((state) => counts.some((count) => count.state === state)).map((state) => (
        <StateLabel key={state} state={state}>
          {sorted
            .filter((count) => count.state === state)
            .map(({ kind, count }) => pluralize(count, nounOf(kind)))
            .join(", ")}{" "}
          {stateWord(state)}
        </StateLabel>
      ))}
    </>
  );
}

/** Incidents that the page lists. */
const LISTED = 5;

/** What the open incidents cost, and how old they are. */
function Impact({ open }: { open: Open }) {
  const { asof } = useAsOf();
  const { nodes } = open.incidents;
  const known = nodes.filter(({ startedAt }) => startedAt);
  const oldest = known.reduce(
    (least, incident) => (!least || (incident.startedAt ?? "") < (least.startedAt ?? "") ? incident : least),
    known[0],
  );
  // the rule of incidents: with unhealthy chips, or at an unhealthy link, switch or NIC
  const hitting = nodes.filter(({ jobs }) => jobs.length);
  const hit = new Set(hitting.flatMap(({ jobs }) => jobs));
  const isDown = hitting.some(({ parts }) => parts.some(({ state }) => state === "down"));
  return (
    <>
      <p class="states">
        {hit.size ? (
          <Warning state={isDown ? "down" : "degraded"}>{pluralize(hit.size, "job")} hit</Warning>
        ) : (
          <StateLabel state="up">no job hit</StateLabel>
        )}
      </p>
      {oldest && (
        <p class="quiet rest">
          Oldest: <span class="nowrap">{formatDuration(oldest.startedAt ?? "", shownTime(asof))}</span>,{" "}
          <span class="nowrap">{oldest.place}</span>
        </p>
      )}
    </>
  );
}

/** Sources that a tile has room for. */
const FEW_SOURCES = 1;

function Sources({ open, designs }: { open: Open; designs: number }) {
  const { asof } = useAsOf();
  const age = (time: string) => `${formatDuration(time, shownTime(asof))} ago`;
  const sources = feedsOf(open);
  const { drift, driftComparedAt } = open;
  const more = sources.length - FEW_SOURCES;
  const rest = [
    more > 0 && `${pluralize(more, "more source")}`,
    !sources.length && "no source has reported",
    designs > 0 && `${number(designs)} design only`,
    driftComparedAt
      ? `drift: ${pluralize(drift.totalCount, "finding")}, ${age(driftComparedAt)}`
      : "drift: never compared",
  ].filter(Boolean);
  return (
    <>
      {sources.slice(0, FEW_SOURCES).map(({ name, seenAt, trouble }) => (
        <p key={name} class={trouble ? "warned line" : "quiet line"}>
          {name}: {trouble && `${trouble}, `}
          {seenAt ? age(seenAt) : "never read"}
        </p>
      ))}
      <p class={drift.totalCount ? "warned rest" : "quiet rest"}>{rest.join("; ")}</p>
    </>
  );
}

const COLUMNS: Column[] = [["Cluster"], ["Chips", "number roomy"], ["Servers", "number roomy wider"], ["Unhealthy"]];

interface LineProps {
  health: Health;
  sources: Feed[] | undefined;
  hasSource: boolean;
}

function Line({ health, sources, hasSource }: LineProps) {
  return (
    <Row content={JSON.stringify([health.unhealthy, health.live])}>
      <th scope="row">
        <a href={health.alone ? href("domain", health.alone) : href("cluster", health.slug)}>
          <Miniature shape={health.shape} />
          <span>
            {health.slug} <Models health={health} />
          </span>
        </a>
      </th>
      <td class="number roomy">{number(health.chips)}</td>
      <td class="number roomy wider">{number(health.servers)}</td>
      <td class="states">
        {health.unhealthy.length ? <ByState counts={health.unhealthy} /> : <StateLabel state="up">all up</StateLabel>}
      </td>
      {hasSource && (
        <td class="roomy quiet source">
          <Liveness health={health} sources={sources} />
        </td>
      )}
    </Row>
  );
}

/** Models that a cluster names, a line for each. */
const FEW_MODELS = 3;

function Models({ health: { models, shape } }: { health: Health }) {
  const isMany = models.length > FEW_MODELS;
  return (
    <span class="quiet roomy" title={isMany ? models.join(", ") : undefined}>
      {isMany
        ? `${pluralize(shape.domains, "domain")} of ${number(models.length)} models`
        : models.map((model) => (
            <span key={model} class="line">
              {model}
            </span>
          ))}
    </span>
  );
}

/** Whether a cluster is reporting, late or only a design: by the sources that report about it. */
function Liveness({ health, sources }: Omit<LineProps, "hasSource">) {
  if (!health.live) return "design only";
  const bound =
    health.live < health.servers ? `${number(health.live)} of ${number(health.servers)} bound` : "all bound";
  const own = sources?.filter(({ clusters }) => clusters.includes(health.slug)) ?? [];
  const trouble = own.find((source) => source.trouble)?.trouble;
  if (trouble)
    return (
      <span class="warned">
        {trouble}, {bound}
      </span>
    );
  return `${own.some(({ everySeconds }) => everySeconds !== null) ? "reporting, " : ""}${bound}`;
}

function OpenIncidents({ open: { incidents } }: { open: Open }) {
  const { asof } = useAsOf();
  return (
    <section class="card flush" aria-labelledby="open">
      <h2 id="open">
        Incidents{" "}
        <a class="more" href={href("incidents")}>
          All {number(incidents.totalCount)}
        </a>
      </h2>
      {incidents.totalCount === 0 && <p class="inner">No open incidents. Every part is up.</p>}
      <ul class="rows">
        {incidents.nodes.slice(0, LISTED).map((incident) => (
          <li key={incident.id}>
            <a href={href("incidents", "", { sel: incident.id })}>
              <Glyph
                state={incident.parts.find(({ state }) => state === "down")?.state ?? incident.parts[0]?.state ?? "up"}
              />
              <span>
                <strong>{shortenAddress(incident.place ?? "several clusters")}</strong>
                <span class="reason">
                  <BriefReason text={incident.why ?? "No reason given"} />
                </span>
                <span class="quiet">
                  {SEVERITIES[incident.severity]} · {describeParts([incident])}
                  <JobNames verb="hits" jobs={incident.jobs} />
                </span>
              </span>
              <span class="quiet">{incident.startedAt && formatDuration(incident.startedAt, shownTime(asof))}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What an incident does to jobs; their names break only where one is longer than a line. */
function JobNames({ verb, jobs }: { verb: string; jobs: readonly string[] }) {
  if (!jobs.length) return null;
  if (jobs.length > LISTED) return `, ${verb} ${pluralize(jobs.length, "job")}`;
  return (
    <>
      {","}
      {jobs.map((job, index) => (
        <Fragment key={job}>
          {" "}
          <span class="whole">
            {index === 0 && `${verb} `}
            {job}
            {index < jobs.length - 1 && ","}
          </span>
        </Fragment>
      ))}
    </>
  );
}

function Changes({ events }: { events: Open["events"]["nodes"] }) {
  if (!events.length) return null;
  return (
    <section class="card flush" aria-labelledby="changes">
      <h2 id="changes">Recent changes</h2>
      <ul class="rows">
        {[...events].reverse().map((event) => (
          <li key={event.event}>
            <a href={href("at", event.address)}>
              <EventGlyph event={event} />
              <span>
                <strong>{shortenAddress(event.address)}</strong>
                <span class="quiet">
                  {describeEvent(event)}, {event.who}
                </span>
              </span>
              <span class="quiet">{formatDuration(event.at)} ago</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
