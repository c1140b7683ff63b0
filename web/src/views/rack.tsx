// A rack's elevation: what stands in which units, as far as documents say.
import { graphql, makeQuery, type Query, type Result, useQuery } from "../api";
import { elevation, type Slot } from "../drawing/elevation";
import { CopyQueries, DownloadSvg, Loading, svgOf } from "../parts";
import { href, type Route } from "../route";
import { attributeOf, citation, pluralize } from "../words";

const RACK = graphql(`
  query Rack($address: Address!) {
    resolve(address: $address) {
      ... on Rack {
        address ordinal rackUnits
        cluster { slug racks(first: 1) { totalCount } }
        facts { attribute value quote formula assumed source { title } }
        servers(first: 18) {
          nodes {
            address ordinal state
            model
            domain { address }
            trays { ordinal kind rackUnits }
            chips(first: 16) { nodes { address ordinal state tray } }
            facts { attribute value quote formula assumed source { title } }
          }
        }
      }
    }
    switches(filter: { rack: { eq: $address } }, first: 1) { totalCount }
  }
`);

type Rack = Extract<Result<typeof RACK>["resolve"], { rackUnits: number }>;

export function RackView({ route }: { route: Route }) {
  const query = makeQuery(RACK, { address: route.subject });
  return (
    <Loading result={useQuery(query)} page={route.subject}>
      {({ resolve: rack, switches }) =>
        "rackUnits" in rack ? (
          <Opened rack={rack} switches={switches.totalCount} query={query} />
        ) : (
          <p class="failure">{route.subject} is not a rack.</p>
        )
      }
    </Loading>
  );
}

const UNIT = 18;
const WIDTH = 460;
const LEFT = 46;
const TOP = 12;

function Opened({ rack, switches, query }: { rack: Rack; switches: number; query: Query }) {
  const servers = rack.servers.nodes.map((server) => ({ ...server, chips: server.chips.nodes }));
  const slots = elevation(servers);
  const used = slots.reduce((sum, slot) => sum + slot.units, 0);
  const racks = rack.cluster.racks.totalCount;
  const beside = (ordinal: number) => (ordinal >= 0 && ordinal < racks ? `${rack.cluster.slug}/r${ordinal}` : null);
  const domains = [...new Set(rack.servers.nodes.map((server) => server.domain.address))];
  const trayFacts = new Map(
    rack.servers.nodes
      .flatMap((server) => server.facts.map((fact) => [attributeOf(server.model, fact.attribute), fact] as const))
      .filter(([name]) => /tray|rack/.test(name)),
  );
  const [before, after] = [beside(rack.ordinal - 1), beside(rack.ordinal + 1)];
  return (
    <article>
      <header class="title">
        <h1>{rack.address}</h1>
        <p>
          {pluralize(rack.servers.nodes.length, "server")},{" "}
          {slots.some((slot) => slot.assumed) ? "heights not documented" : `${used} of ${rack.rackUnits} rack units`};{" "}
          {domains.map((domain) => (
            <a key={domain} href={href("domain", domain)}>
              {domain}
            </a>
          ))}
        </p>
        <nav class="tools" aria-label="Racks">
          {before && <a href={href("rack", before)}>← {before}</a>}
          {after && <a href={href("rack", after)}>{after} →</a>}
          <CopyQueries queries={[query]} />
          <DownloadSvg name={rack.address} picture={svgOf("rack")} />
        </nav>
      </header>
      <div class="split">
        <Elevation rack={rack} slots={slots} />
        <section class="answers" aria-label="Documented facts">
          <div class="card">
            <h2>Documented facts</h2>
            <ul>
              {[...rack.facts.map((fact) => [attributeOf("rack", fact.attribute), fact] as const), ...trayFacts].map(
                ([name, fact]) => (
                  <li key={name}>
                    {name}: <strong>{fact.value}</strong>, {fact.source.title}: {citation(fact)}
                    {fact.assumed && <span class="assumed"> assumed</span>}
                  </li>
                ),
              )}
            </ul>
            {switches > 0 && (
              <p>This rack also holds {pluralize(switches, "switch")}. Their rack units are not documented.</p>
            )}
            <p class="quiet">Hatched: height not documented, drawn as 1U. The order from bottom to top is assumed.</p>
          </div>
        </section>
      </div>
    </article>
  );
}

function Elevation({ rack, slots }: { rack: Rack; slots: Slot[] }) {
  const height = Math.max(rack.rackUnits, ...slots.map((slot) => slot.from + slot.units - 1));
  const y = (unit: number) => TOP + (height - unit) * UNIT;
  return (
    <svg id="rack" class="rack" viewBox={`0 0 ${LEFT + WIDTH + 20} ${TOP * 2 + height * UNIT}`} role="img">
      <title>{`Elevation of ${rack.address}`}</title>
      <defs>
        <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect class="hatch" width="2" height="6" />
        </pattern>
      </defs>
      <rect class="frame" x={LEFT} y={TOP} width={WIDTH} height={height * UNIT} />
      {Array.from({ length: height }, (_, index) => (
        <text key={index} class="unit" x={LEFT - 8} y={y(index + 1) + 13}>
          {index + 1}
        </text>
      ))}
      {slots.map((slot) => (
        <Tray key={`${slot.server.address} ${slot.from}`} slot={slot} top={y(slot.from + slot.units - 1)} />
      ))}
    </svg>
  );
}

function Tray({ slot, top }: { slot: Slot; top: number }) {
  const { server, tray, chips, units } = slot;
  const kind = tray?.kind ?? "server";
  const label = `${server.address.split("/").slice(-1)} ${kind === "server" ? "" : `${kind} tray ${tray?.ordinal}`}`;
  const height = units * UNIT - 2;
  return (
    <g class={`tray ${kind} ${server.state}`}>
      <title>{`${server.address}, ${kind}${slot.assumed ? ", height assumed" : `, ${units}U`}, ${server.state}`}</title>
      <rect x={LEFT + 2} y={top + 1} width={WIDTH - 4} height={height} />
      {slot.assumed && <rect x={LEFT + 2} y={top + 1} width={WIDTH - 4} height={height} fill="url(#hatch)" />}
      <text class="name" x={LEFT + 10} y={top + height / 2 + 5}>
        {label}
      </text>
      {chips.map((chip, index) => (
        <g key={chip.address} class={`chip ${chip.state}`}>
          <title>{`${chip.address}, ${chip.state}`}</title>
          <rect x={LEFT + 150 + index * 19} y={top + height / 2 - 6} width="16" height="14" rx="2" />
          <text x={LEFT + 158 + index * 19} y={top + height / 2 + 5}>
            {chip.ordinal}
          </text>
        </g>
      ))}
    </g>
  );
}
