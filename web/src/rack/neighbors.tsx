// The racks beside a rack, and the cluster's other racks with unhealthy parts.
import { makeQuery, useQuery } from "../api";
import { useNarrow } from "../domain/wiring";
import { Loading } from "../parts";
import { href } from "../route";
import { Glyph, isState, STATES, type State, stateWord } from "../state";
import { pluralize } from "../words";
import { type Rack, ROW, type RowAnswer } from "./documents";

/** Racks on either side, on a wide and on a narrow screen. */
const [REACH, NARROW_REACH] = [7, 2];
const MOST = 6;

const worst = (states: string[]): State => STATES.find((state) => states.includes(state)) ?? "up";

export function Neighbors({ rack }: { rack: Rack }) {
  const racks = rack.cluster.racks.totalCount;
  const reach = useNarrow() ? NARROW_REACH : REACH;
  const first = Math.max(0, Math.min(rack.ordinal - reach, racks - 2 * reach - 1));
  const cluster = rack.cluster.slug;
  const result = useQuery(makeQuery(ROW, { cluster, from: first, to: first + 2 * reach }));
  if (racks < 2) return null;
  const to = (ordinal: number) => href("rack", `${cluster}/r${ordinal}`);
  return (
    <nav class="card neighbors" aria-label="Racks">
      <Loading result={result}>
        {(row) => (
          <>
            <Step to={rack.ordinal > 0 ? to(rack.ordinal - 1) : undefined} name="Previous rack" sign="‹" />
            <Row row={row} rack={rack} />
            <Step to={rack.ordinal < racks - 1 ? to(rack.ordinal + 1) : undefined} name="Next rack" sign="›" />
            <Elsewhere row={row} rack={rack} />
          </>
        )}
      </Loading>
    </nav>
  );
}

const Step = ({ to, name, sign }: { to: string | undefined; name: string; sign: string }) =>
  to ? (
    <a class="button square" href={to}>
      <span aria-hidden="true">{sign}</span>
      <span class="unseen">{name}</span>
    </a>
  ) : (
    <span class="square" />
  );

/** For each server with unhealthy chips or in such a state itself, the worst state. */
function statesOf({ servers, chips }: RowAnswer): Map<string, State> {
  const states = new Map<string, State>();
  const note = (address: string, state: string) =>
    states.set(address, worst([state, states.get(address) ?? "up"].filter(isState)));
  for (const { address, state } of servers.nodes) note(address, state);
  for (const { state, server } of chips.nodes) note(server.address, state);
  return states;
}

function Row({ row, rack }: { row: RowAnswer; rack: Rack }) {
  const states = statesOf(row);
  return (
    <ol class="row-of-racks">
      {[...row.racks.nodes]
        .sort((a, b) => a.ordinal - b.ordinal)
        .map(({ address, ordinal, servers }) => {
          const all = servers.nodes.map((server) => states.get(server.address) ?? server.state);
          const state = worst(all);
          return (
            <li key={address}>
              <a href={href("rack", address)} aria-current={ordinal === rack.ordinal ? "page" : undefined}>
                <span class="front" aria-hidden="true">
                  {all.length <= 4 ? (
                    [...servers.nodes].reverse().map((server) => {
                      const own = states.get(server.address) ?? server.state;
                      return (
                        <i key={server.address} class={own}>
                          {own !== "up" && <Glyph state={own} />}
                        </i>
                      );
                    })
                  ) : (
                    <i class={state}>{state !== "up" && <Glyph state={state} />}</i>
                  )}
                </span>
                r{ordinal}
                {state !== "up" && <span class="unseen"> {stateWord(state)}</span>}
              </a>
            </li>
          );
        })}
    </ol>
  );
}

/** Other racks with unhealthy parts: ✕ r6 1 chip. */
function Elsewhere({ row, rack }: { row: RowAnswer; rack: Rack }) {
  const racks = new Map<number, { servers: number; chips: number; states: string[] }>();
  const at = (ordinal: number) => {
    const entry = racks.get(ordinal) ?? { servers: 0, chips: 0, states: [] };
    racks.set(ordinal, entry);
    return entry;
  };
  for (const { state, rack } of row.servers.nodes) {
    const entry = at(rack.ordinal);
    entry.servers++;
    entry.states.push(state);
  }
  for (const { state, server, rack } of row.chips.nodes) {
    if (server.state === state) continue; // with its server
    const entry = at(rack.ordinal);
    entry.chips++;
    entry.states.push(state);
  }
  racks.delete(rack.ordinal);
  const rank = (states: string[]) => STATES.indexOf(worst(states));
  const list = [...racks].sort((a, b) => rank(a[1].states) - rank(b[1].states) || a[0] - b[0]);
  return (
    <div class="elsewhere">
      <h2>Unhealthy, elsewhere</h2>
      {list.length ? (
        <ul>
          {list.slice(0, MOST).map(([ordinal, { servers, chips, states }]) => (
            <li key={ordinal}>
              <Glyph state={worst(states)} />
              <a href={href("rack", `${rack.cluster.slug}/r${ordinal}`)}>r{ordinal}</a>
              <span class="quiet">
                {[servers && pluralize(servers, "server"), chips && pluralize(chips, "chip")]
                  .filter(Boolean)
                  .join(", ")}
                <span class="unseen"> {stateWord(worst(states))}</span>
              </span>
            </li>
          ))}
          {list.length > MOST && <li class="quiet">and {list.length - MOST} more</li>}
        </ul>
      ) : (
        <p class="quiet">no other rack</p>
      )}
    </div>
  );
}
