// A rack from the front: what is unhealthy, why, what it costs, and what to know before a server is pulled.
import { makeQuery, type Query, useQuery } from "../api";
import { useNarrow } from "../domain/wiring";
import { Unapplied } from "../incidents/unapplied";
import { Causes } from "../part/causes";
import { CopyQueries, DownloadSvg, Loading, svgOf } from "../parts";
import { Picture } from "../picture";
import { href, type Route } from "../route";
import { type Count, nounOf, STATES, StateLabel, stateWord } from "../state";
import "../style/rack.css";
import { pluralize } from "../words";
import { Cost, Pull } from "./causes";
import { COST, RACK, type Rack, type RackAnswer, type RackServer } from "./documents";
import { Facts } from "./facts";
import { Neighbors } from "./neighbors";

export function RackView({ route }: { route: Route }) {
  const query = makeQuery(RACK, { address: route.subject });
  return (
    <Loading result={useQuery(query)} page={route.subject}>
      {(answer) =>
        "rackUnits" in answer.resolve ? (
          <Opened answer={answer} rack={answer.resolve as Rack} query={query} />
        ) : (
          <p class="failure">{route.subject} is not a rack.</p>
        )
      }
    </Loading>
  );
}

function Opened({ answer, rack, query }: { answer: RackAnswer; rack: Rack; query: Query }) {
  const servers = rack.servers.nodes;
  const domains = [...new Set(servers.map((server) => server.domain.address))];
  const used = servers.flatMap(({ trays }) => trays).reduce((sum, { rackUnits }) => sum + (rackUnits ?? 0), 0);
  const isHealthy = !answer.incidents.totalCount;
  const cost = useQuery(isHealthy ? null : makeQuery(COST, { address: rack.address }));
  return (
    <article class="rack">
      <header class="title">
        <h1>{rack.address}</h1>
        <span class="states">
          {STATES.map((state) => {
            const parts = countsOf(answer, rack).filter((count) => count.state === state);
            return (
              parts.length > 0 && (
                <StateLabel key={state} state={state}>
                  {parts.map(({ kind, count }) => pluralize(count, nounOf(kind))).join(", ")} {stateWord(state)}
                </StateLabel>
              )
            );
          })}
          <Unapplied count={answer.unappliedFindingCount} scope={rack.address} />
        </span>
        <p>
          {pluralize(servers.length, "server")} of{" "}
          {domains.slice(0, 3).map((domain, index) => (
            <span key={domain}>
              {index > 0 && ", "}
              <a href={href("domain", domain)}>{domain.split("/")[1]}</a>
            </span>
          ))}
          {domains.length > 3 && ` and ${domains.length - 3} more`}
          {used > 0 ? `, ${used} of ${rack.rackUnits} U` : ", heights not documented"}
        </p>
        <nav class="tools" aria-label="Rack">
          <CopyQueries queries={[query]} />
          <DownloadSvg name={rack.address} picture={svgOf("rack")} />
        </nav>
      </header>
      <div class="columns">
        <section class="card elevation" aria-label="Elevation">
          <div style={{ minHeight: `${heightOf(rack, useNarrow())}px` }}>
            <Picture name="rack" options={{ scope: rack.address }} />
          </div>
        </section>
        <aside class="side" aria-label="Causes and facts">
          {isHealthy ? (
            <p class="card quiet">Every part of this rack is up.</p>
          ) : (
            <>
              <Causes place={rack.cluster.slug} incidents={answer.incidents} />
              <Cost result={cost} />
            </>
          )}
          <Pull servers={servers} rack={rack.address} />
          <Facts rack={rack} switches={answer.switches.totalCount} />
        </aside>
      </div>
      <Neighbors rack={rack} />
    </article>
  );
}

/** About the height of the picture in pixels, reserved before it is there (trninv/drawing/rack_elevation.py). */
function heightOf(rack: Rack, narrow: boolean): number {
  const servers = rack.servers.nodes;
  const trays = servers.reduce((sum, server) => sum + Math.max(server.trays.length, 1), 0);
  const isKnown = servers.every((server) => server.trays.some(({ rackUnits }) => rackUnits));
  if (narrow)
    return 36 + 22 * servers.length + 15 * servers.reduce((sum, server) => sum + linesOf(server), 0) + 30 * trays;
  return isKnown ? 16 * rack.rackUnits + 14 : Math.min(690, 36 * trays + 6 * servers.length + 14);
}

/** Lines of text above a server's trays: its name, what is wrong, its jobs, its host. */
function linesOf({ state, chips, host, instance }: RackServer): number {
  const failed = chips.nodes.filter((chip) => chip.state !== "up" && chip.state !== state).length;
  return 2 + (state === "up" ? Math.min(failed, 2) : 2) + (host || instance ? 1 : 0);
}

/** The rack's parts by kind and state; of those that are up, only chips. */
function countsOf({ chips, nics, switches }: RackAnswer, rack: Rack): Count[] {
  const servers = new Map<string, number>();
  for (const { state } of rack.servers.nodes) servers.set(state, (servers.get(state) ?? 0) + 1);
  const kinds: [string, { state?: string | null; count: number }[]][] = [
    ["server", [...servers].map(([state, count]) => ({ state, count }))],
    ["chip", chips.aggregates],
    ["nic", nics.aggregates],
    ["switch", switches.aggregates],
  ];
  return kinds.flatMap(([kind, rows]) =>
    rows
      .map(({ state, count }) => ({ kind, state: state ?? "up", count }))
      .filter(({ state, count }) => count && (state !== "up" || kind === "chip")),
  );
}
