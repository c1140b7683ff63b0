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
  const racks = unhealthyOf(row);
  return (
    <ol class="row-of-racks">
      {[...row.racks.nodes]
        .sort((a, b) => a.ordinal - b.ordinal)
        .map(({ address, ordinal, servers }) => {
          const all = servers.nodes.map((server) => states.get(server.address) ?? server.state);
          const state = worst([...all, ...(racks.get(ordinal)?.states ?? [])]);
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

interface Unhealthy {
  counts: Map<string, number>;
  states: string[];
}

/** What is unhealthy in each rack, by its ordinal; a chip that is in the state of its server counts with it. */
function unhealthyOf({ servers, chips, switches, links }: RowAnswer): Map<number, Unhealthy> {
  const racks = new Map<number, Unhealthy>();
  const note = (kind: string, state: string, ordinal: number) => {
    const { counts, states } = racks.get(ordinal) ?? { counts: new Map<string, number>(), states: [] };
    racks.set(ordinal, { counts: counts.set(kind, (counts.get(kind) ?? 0) + 1), states: [...states, state] });
  };
  for (const { state, rack } of servers.nodes) note("server", state, rack.ordinal);
  for (const { state, server, rack } of chips.nodes) if (server.state !== state) note("chip", state, rack.ordinal);
  for (const { state, rack } of switches.nodes) note("switch", state, rack.ordinal);
  for (const { state, a, b } of links.nodes)
    for (const ordinal of new Set([a, b].flatMap((end) => ("rack" in end ? [end.rack.ordinal] : []))))
      note("link", state, ordinal);
  return racks;
}

/** Other racks with unhealthy parts: ✕ r6 1 chip. */
function Elsewhere({ row, rack }: { row: RowAnswer; rack: Rack }) {
  const racks = unhealthyOf(row);
  racks.delete(rack.ordinal);
  const rank = (states: string[]) => STATES.indexOf(worst(states));
  const list = [...racks].sort((a, b) => rank(a[1].states) - rank(b[1].states) || a[0] - b[0]);
  return (
    <div class="elsewhere">
      <h2>Unhealthy, elsewhere</h2>
      {list.length ? (
        <ul>
          {list.slice(0, MOST).map(([ordinal, { counts, states }]) => (
            <li key={ordinal}>
              <Glyph state={worst(states)} />
              <a href={href("rack", `${rack.cluster.slug}/r${ordinal}`)}>r{ordinal}</a>
              <span class="quiet">
                {[...counts].map(([kind, count]) => pluralize(count, kind)).join(", ")}
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
