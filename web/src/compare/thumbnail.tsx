// A thumbnail of a place: a dot per chip, server by server, or a square per domain. The worst state shows.
import { isState, STATES } from "../state";
import type { Size } from "./documents";

const STEP = 8;
/** Maximum number of squares; in larger clusters consecutive domains share one. */
const MOST = 240;
/** Number of domains up to which their squares are twice as large. */
const FEW = 12;

interface Spot {
  x: number;
  y: number;
}

interface Grid {
  count: number;
  spotAt: (index: number) => Spot;
  /** The dot or square that contains an address; NaN: none, such as for a switch among chips. */
  indexOf: (address: string) => number;
}

/** Arrange a server's chips in a square block, or in a row if there are few; two columns of rows are racks. */
function byChip(chips: number, servers: number): Grid {
  const perServer = chips / servers;
  const side = Math.ceil(Math.sqrt(perServer));
  const rows = Math.ceil(servers / 2);
  const place = (server: number, chip: number): Spot =>
    perServer > 4 || servers < 8
      ? { x: server * (side + 0.5) + (chip % side), y: Math.floor(chip / side) }
      : { x: Math.floor(server / rows) * (perServer + 2) + chip, y: (server % rows) * 0.55 };
  return {
    count: chips,
    spotAt: (index) => place(Math.floor(index / perServer), index % perServer),
    indexOf: (address) => {
      const [, server, chip] = /^[^/]+\/d\d+\/s(\d+)\/c(\d+)$/.exec(address) ?? [];
      return Number(server) * perServer + Number(chip);
    },
  };
}

function byDomain(domains: number): Grid {
  const perSpot = Math.ceil(domains / MOST);
  const count = Math.ceil(domains / perSpot);
  const wide = Math.ceil(Math.sqrt(4 * count));
  return {
    count,
    spotAt: (index) => ({ x: index % wide, y: Math.floor(index / wide) }),
    indexOf: (address) => Math.floor(Number(/\/d(\d+)\//.exec(address)?.[1]) / perSpot),
  };
}

const rank = (state: string) => STATES.indexOf(isState(state) ? state : "up");

export function Thumbnail({ size }: { size: Size }) {
  const [chips, servers, domains] = [size.chips.totalCount, size.servers.totalCount, size.domains.totalCount];
  if (!chips || !servers || chips % servers) return null;
  const grid = domains > 1 ? byDomain(domains) : byChip(chips, servers);
  const worst = new Map<number, string>();
  let around = "up";
  // servers are not among them: their chips have their state
  for (const { address, state } of [size.chip, size.switch, size.link, size.nic].flatMap(({ nodes }) => [...nodes])) {
    const index = grid.indexOf(address);
    if (Number.isNaN(index)) around = rank(state) < rank(around) ? state : around;
    else if (rank(state) < rank(worst.get(index) ?? "up")) worst.set(index, state);
  }
  const spots = Array.from({ length: grid.count }, (_, index) => grid.spotAt(index));
  const [width, height] = [Math.max(...spots.map(({ x }) => x)) + 1, Math.max(...spots.map(({ y }) => y)) + 1];
  const scale = STEP * (domains > 1 && domains <= FEW ? 2 : 1);
  const isFlat = domains < 2 && chips / servers <= 4 && servers >= 8;
  const dot = {
    width: isFlat ? STEP - 1 : STEP - 2,
    height: isFlat ? 3 : STEP - 2,
    rx: isFlat ? 1 : domains > 1 ? 1 : 3,
  };
  return (
    <svg
      class="little"
      viewBox={`0 0 ${width * STEP} ${height * STEP}`}
      width={width * scale}
      height={height * scale}
      aria-hidden="true"
    >
      {spots.map(({ x, y }, index) => (
        <rect key={`${x} ${y}`} class={worst.get(index)} x={x * STEP + 1} y={y * STEP + 1} {...dot} />
      ))}
      {around !== "up" && (
        <rect class={`around ${around}`} x="1" y="1" width={width * STEP - 2} height={height * STEP - 2} rx="2" />
      )}
    </svg>
  );
}
