// Where a server or chip is: its rack as a small picture, and the rack, units and domain in words.
import { href } from "../route";
import { Glyph } from "../state";
import { relativeTo } from "../words";
import type { Surroundings } from "./documents";

type Neighbor = Surroundings["rack"]["servers"]["nodes"][number];

const heightOf = ({ trays }: Neighbor) => trays.reduce((sum, { rackUnits }) => sum + (rackUnits ?? 0), 0);

/** The units that a server takes up, counted from the bottom; null if no document gives them. */
function unitsOf(servers: Neighbor[], address: string): [number, number] | null {
  const index = servers.findIndex((server) => server.address === address);
  const heights = servers.map(heightOf);
  if (index < 0 || heights.includes(0)) return null;
  const below = heights.slice(0, index).reduce((sum, height) => sum + height, 0);
  return [below + 1, below + (heights[index] ?? 0)];
}

interface WhereProps {
  server: Surroundings;
  /** Of a chip, its tray and its state. */
  tray?: number | null;
  state?: string;
}

export function Where({ server, tray, state = server.state }: WhereProps) {
  const { rack, domain } = server;
  const servers = rack.servers.nodes;
  const index = servers.findIndex(({ address }) => address === server.address);
  const units = unitsOf(servers, server.address);
  const [above, below] = [servers[index + 1], servers[index - 1]];
  const others = [...new Set(domain.servers.nodes.map(({ rack }) => rack.address))].filter(
    (address) => address !== rack.address,
  );
  return (
    <section class="card flush" aria-label="Where it is">
      <h2>
        Where it is
        <a class="more" href={href("rack", rack.address)}>
          Open rack
        </a>
      </h2>
      <div class="inner where">
        <Miniature servers={servers} sel={server.address} state={state} tray={tray ?? null} units={rack.rackUnits} />
        <dl class="figures">
          <Fact name="Rack">
            <a href={href("rack", rack.address)}>{rack.address}</a>
          </Fact>
          <Fact name="Units">{units ? `U${units[0]} to U${units[1]}` : "not documented"}</Fact>
          {tray !== undefined && tray !== null && <Fact name="Tray">tray {tray}</Fact>}
          {above && <Beside name="Above it" neighbor={above} domain={domain.address} />}
          {below && <Beside name="Below it" neighbor={below} domain={domain.address} />}
          <Fact name="Domain">
            <a href={href("domain", domain.address)}>{domain.address}</a>
          </Fact>
          {others.length > 0 && (
            <Fact name="Domain also in">
              {others.slice(0, 4).map((other, order) => (
                <span key={other}>
                  {order > 0 && ", "}
                  <a href={href("rack", other)}>{other.split("/")[1]}</a>
                </span>
              ))}
            </Fact>
          )}
        </dl>
      </div>
    </section>
  );
}

const Fact = ({ name, children }: { name: string; children: preact.ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

const Beside = ({ name, neighbor, domain }: { name: string; neighbor: Neighbor; domain: string }) => (
  <Fact name={name}>
    <a href={href("at", neighbor.address)}>{relativeTo(domain, neighbor.address)}</a>, {neighbor.state}
  </Fact>
);

interface MiniatureProps {
  servers: Neighbor[];
  sel: string;
  /** The state of the part that is shown, which is in the selected server. */
  state: string;
  tray: number | null;
  units: number;
}

/** The rack from the front, as high as its units; with many servers, without their trays. */
function Miniature({ servers, sel, state, tray, units }: MiniatureProps) {
  const free = Math.max(0, units - servers.reduce((sum, server) => sum + heightOf(server), 0));
  const isKnown = servers.every((server) => heightOf(server) > 0);
  const hasTrays = servers.length <= 4;
  const hasOneDomain = new Set(servers.map(({ address }) => address.split("/")[1])).size === 1;
  return (
    <ol class="miniature" reversed aria-label="Servers of the rack, from the top">
      {isKnown && free > 0 && <li class="free" style={{ flexGrow: free }} aria-hidden="true" />}
      {[...servers].reverse().map((server) => (
        <li
          key={server.address}
          class={server.address === sel ? `${state} here` : server.state}
          // the name of the selected server fits
          style={{ flexGrow: heightOf(server) || (server.address === sel && !hasTrays ? 3 : 1) }}
        >
          <a href={href("at", server.address)} aria-current={server.address === sel ? "true" : undefined}>
            {(server.state !== "up" || hasTrays) && <Glyph state={server.state} />}
            <span class={hasTrays || server.address === sel ? "" : "unseen"}>
              {server.address
                .split("/")
                .slice(hasOneDomain ? 2 : 1)
                .join("/")}
            </span>
            <span class="unseen"> {server.state}</span>
          </a>
          {hasTrays && (
            <span class="trays" aria-hidden="true">
              {[...server.trays].reverse().map((part) => (
                <i
                  key={part.ordinal + part.kind}
                  class={`${part.kind} ${server.address === sel && part.kind === "compute" && part.ordinal === tray ? "chosen" : ""}`}
                />
              ))}
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}
