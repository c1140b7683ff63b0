// A rack's elevation in rack units, as far as documents state it.
import { graphql, makeQuery, type Query, type Result, useQuery } from "../api";
import { CopyQueries, DownloadSvg, Loading, svgOf } from "../parts";
import { Picture } from "../picture";
import { href, type Route } from "../route";
import { attributeOf, citation, pluralize } from "../words";

const RACK = graphql(`
  query Rack($address: Address!) {
    resolve(address: $address) {
      ... on Rack {
        address ordinal
        cluster { slug racks(first: 1) { totalCount } }
        facts { attribute value quote formula assumed source { title } }
        servers(first: 18) {
          nodes {
            model
            domain { address }
            facts { attribute value quote formula assumed source { title } }
          }
        }
      }
    }
    switches(filter: { rack: { eq: $address } }, first: 1) { totalCount }
  }
`);

type Rack = Extract<Result<typeof RACK>["resolve"], { facts: unknown[]; servers: unknown }>;

export function RackView({ route }: { route: Route }) {
  const query = makeQuery(RACK, { address: route.subject });
  return (
    <Loading result={useQuery(query)} page={route.subject}>
      {({ resolve: rack, switches }) =>
        "servers" in rack ? (
          <Opened rack={rack} switches={switches.totalCount} query={query} />
        ) : (
          <p class="failure">{route.subject} is not a rack.</p>
        )
      }
    </Loading>
  );
}

function Opened({ rack, switches, query }: { rack: Rack; switches: number; query: Query }) {
  const racks = rack.cluster.racks.totalCount;
  const neighbor = (ordinal: number) => (ordinal >= 0 && ordinal < racks ? `${rack.cluster.slug}/r${ordinal}` : null);
  const domains = [...new Set(rack.servers.nodes.map((server) => server.domain.address))];
  const trayFacts = new Map(
    rack.servers.nodes
      .flatMap((server) => server.facts.map((fact) => [attributeOf(server.model, fact.attribute), fact] as const))
      .filter(([name]) => /tray|rack/.test(name)),
  );
  const [before, after] = [neighbor(rack.ordinal - 1), neighbor(rack.ordinal + 1)];
  return (
    <article>
      <header class="title">
        <h1>{rack.address}</h1>
        <p>
          {pluralize(rack.servers.nodes.length, "server")} of{" "}
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
        <section class="card" aria-label="Elevation">
          <Picture name="rack" options={{ scope: rack.address }} />
        </section>
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
          </div>
        </section>
      </div>
    </article>
  );
}
