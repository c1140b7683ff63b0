// A place in small: a dot a chip, server by server, or a square a domain where there are several; the worst state shows.
import { isState, STATES } from "../state";
import type { Size } from "./documents";

const STEP = 8;
/** Squares at most: domains that follow each other share one where there are more. */
const MOST = 240;

interface Spot {
  x: number;
  y: number;
}

interface Grid {
  count: number;
  at: (index: number) => Spot;
  /** The spot that an address is in. */
  of: (address: string) => number;
}

/** Chips of a server as a square block, or in a row of their own where they are few; two columns of such rows are racks. */
function byChip(chips: number, servers: number): Grid {
  const each = chips / servers;
  const side = Math.ceil(Math.sqrt(each));
  const rows = Math.ceil(servers / 2);
  const place = (server: number, chip: number): Spot =>
    each > 4 || servers < 8
      ? { x: server * (side + 0.5) + (chip % side), y: Math.floor(chip / side) }
      : { x: Math.floor(server / rows) * (each + 2) + chip, y: (server % rows) * 0.55 };
  return {
    count: chips,
    at: (index) => place(Math.floor(index / each), index % each),
    of: (address) => {
      const [, server, chip] = /\/s(\d+)\/c(\d+)$/.exec(address) ?? [];
      return Number(server) * each + Number(chip);
    },
  };
}

function byDomain(domains: number): Grid {
  const each = Math.ceil(domains / MOST);
  const count = Math.ceil(domains / each);
  const wide = Math.ceil(Math.sqrt(4 * count));
  return {
    count,
    at: (index) => ({ x: index % wide, y: Math.floor(index / wide) }),
    of: (address) => Math.floor(Number(/\/d(\d+)\//.exec(address)?.[1]) / each),
  };
}

const rank = (state: string) => STATES.indexOf(isState(state) ? state : "up");

export function Little({ size }: { size: Size }) {
  const [chips, servers, domains] = [size.chips.totalCount, size.servers.totalCount, size.domains.totalCount];
  if (!chips || !servers || chips % servers) return null;
  const grid = domains > 1 ? byDomain(domains) : byChip(chips, servers);
  const worst = new Map<number, string>();
  for (const { address, state } of size.chip.nodes) {
    const at = grid.of(address);
    if (rank(state) < rank(worst.get(at) ?? "up")) worst.set(at, state);
  }
  const spots = Array.from({ length: grid.count }, (_, index) => grid.at(index));
  const [width, height] = [Math.max(...spots.map(({ x }) => x)) + 1, Math.max(...spots.map(({ y }) => y)) + 1];
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
      width={width * STEP}
      height={height * STEP}
      aria-hidden="true"
    >
      {spots.map(({ x, y }, index) => (
        <rect key={`${x} ${y}`} class={worst.get(index)} x={x * STEP + 1} y={y * STEP + 1} {...dot} />
      ))}
    </svg>
  );
}
