// A cluster as drawn, in the size of a word: chips by server, racks with their switches, or a square per domain; with
// what a square is.
import { isState, STATES } from "../state";
import { pluralize } from "../words";

interface Part {
  address: string;
  state: string;
}

/** What a domain consists of. */
export interface Size {
  servers: number;
  chips: number;
  /** Those after the servers' own are the racks'. */
  switches: number;
}

export interface Shape {
  domains: number;
  /** The size of each domain; of many domains, those of the first few, so that each is drawn as a square. */
  sizes: Size[];
  /** Unhealthy chips, switches, links and NICs, here and on Compare. */
  unhealthy: Part[];
}

interface Domains {
  nodes: readonly {
    servers: { totalCount: number; nodes: readonly { chips: { totalCount: number } }[] };
    switches: { totalCount: number };
  }[];
}

/** The sizes of listed domains, whose servers have as many chips each. */
export const sizesOf = ({ nodes }: Domains): Size[] =>
  nodes.map(({ servers, switches }) => ({
    servers: servers.totalCount,
    chips: servers.totalCount * (servers.nodes[0]?.chips.totalCount ?? 0),
    switches: switches.totalCount,
  }));

const [WIDTH, HEIGHT] = [112, 36];
/** The smallest mark of an unhealthy part, in pixels, unless there are more of them than this. */
const LEAST = 6;
const SPARSE = 12;
const BLOCK = 4;
/** The largest distance of two chips, and between two domains. */
const [MOST, GAP] = [9, 6];
/** The most pixels of the square of a domain, with its gap. */
const LARGEST = 10;

interface Spot {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Drawing {
  /** What one spot stands for. */
  unit: string;
  spots: Spot[];
  /** The spot of an unhealthy part; without one, the whole is outlined. */
  spotOf: (address: string) => Spot | undefined;
}

const ordinal = (address: string, letter: string) => Number(new RegExp(`/${letter}(\\d+)`).exec(address)?.[1]);

/** A square per domain, or per several consecutive ones. */
function byDomain(domains: number): Drawing {
  const columns = Math.ceil(Math.sqrt((domains * WIDTH) / HEIGHT));
  const step = Math.max(3, Math.min(WIDTH / columns, HEIGHT / Math.ceil(domains / columns), LARGEST));
  const [across, down] = [WIDTH, HEIGHT].map((size) => Math.floor(size / step + 0.01)) as [number, number];
  const share = Math.ceil(domains / (across * down));
  const side = step - Math.min(2, step / 3);
  const spots = Array.from({ length: Math.ceil(domains / share) }, (_, index) => ({
    x: (index % across) * step,
    y: Math.floor(index / across) * step,
    width: side,
    height: side,
  }));
  const unit = share > 1 ? pluralize(share, "domain") : "a domain";
  return { unit, spots, spotOf: (address) => spots[Math.floor(ordinal(address, "d") / share)] };
}

/** A server more is wider only up to here, as many servers are rows. */
const WIDEST = 8;

/** Domains side by side with all their chips, wider with more servers. */
function byChip(sizes: Size[]): Drawing {
  const shares = sizes.map(({ servers }) => Math.min(servers, WIDEST));
  const each = (WIDTH + GAP - GAP * sizes.length) / shares.reduce((sum, share) => sum + share, 0);
  let left = -GAP;
  const drawn = sizes.map((size, index) => {
    const wide = each * (shares[index] ?? 1);
    const from = left + GAP;
    left = from + wide;
    const { spots, spotOf } = domainOf(size, wide);
    const move = <T extends Spot | undefined>(spot: T) => (spot ? { ...spot, x: spot.x + from } : spot);
    return { spots: spots.map(move), spotOf: (address: string) => move(spotOf(address)) };
  });
  return {
    unit: "a chip",
    spots: drawn.flatMap(({ spots }) => spots),
    spotOf: (address) => drawn[ordinal(address, "d") % drawn.length]?.spotOf(address),
  };
}

/** Servers of 4 × 4 chips side by side, or many small ones as rows of two racks; a bar is a rack's switch. */
function domainOf({ chips, servers, switches }: Size, width: number): Omit<Drawing, "unit"> {
  const each = chips / servers;
  const isRows = servers > 8;
  const side = Math.min(BLOCK, each);
  const bar = Math.min(4, width / 16);
  const bars = Array.from({ length: Math.max(0, switches - servers) }, (_, rack) => ({
    x: rack ? width - bar : 0,
    y: 0,
    width: bar,
    height: HEIGHT,
  }));
  const left = bars.length ? 2 * bar : 0;
  const free = width - 2 * left;
  const rows = isRows ? Math.ceil(servers / 2) : Math.ceil(each / side);
  const step = Math.min(HEIGHT / rows, MOST, isRows ? free : free / (servers * (side + 0.5)));
  const top = (HEIGHT - rows * step) / 2;
  const place = (server: number, chip: number): Spot => {
    if (!isRows) {
      const x = left + (server * (side + 0.5) + (chip % side)) * step;
      return { x, y: top + Math.floor(chip / side) * step, width: 0.75 * step, height: 0.75 * step };
    }
    const wide = (0.46 * free) / each;
    const x = left + Math.floor(server / rows) * 0.54 * free + chip * wide;
    return { x, y: top + (server % rows) * step, width: 0.8 * wide, height: 0.75 * step };
  };
  const dots = Array.from({ length: chips }, (_, index) => place(Math.floor(index / each), index % each));
  const spotOf = (address: string) => {
    if (address.includes("--")) return undefined;
    const number = ordinal(address, "sw");
    return Number.isNaN(number)
      ? dots[ordinal(address, "s") * each + ordinal(address, "c")]
      : (bars[number - servers] ?? dots[number * each]);
  };
  return { spots: [...bars, ...dots], spotOf };
}

const rank = (state: string) => STATES.indexOf(isState(state) ? state : "up");
const fixed = (value: number) => Math.round(value * 10) / 10;

/** The spot with at least the size of a mark, about its middle. */
function marked({ x, y, width, height }: Spot, least: number): Spot {
  const [wide, high] = [Math.max(width, least), Math.max(height, least)];
  return {
    x: fixed(Math.max(0, Math.min(WIDTH - wide, x + (width - wide) / 2))),
    y: fixed(Math.max(0, Math.min(HEIGHT - high, y + (height - high) / 2))),
    width: fixed(wide),
    height: fixed(high),
  };
}

export function Miniature({ shape }: { shape: Shape }) {
  const { domains, sizes, unhealthy } = shape;
  const isMany = domains > sizes.length;
  if (!isMany && !sizes.some(({ chips }) => chips))
    return <svg class="cluster-miniature" width={WIDTH} height={HEIGHT} aria-hidden="true" />;
  const { unit, spots, spotOf } = isMany ? byDomain(domains) : byChip(sizes);
  const least = new Set(unhealthy.map(({ address }) => spotOf(address))).size > SPARSE ? 0 : LEAST;
  const marks = [...unhealthy]
    .sort((a, b) => rank(b.state) - rank(a.state)) // the worst is drawn last
    .flatMap(({ address, state }) => {
      const spot = spotOf(address);
      return spot ? [{ state, ...marked(spot, least) }] : [];
    });
  const beside = STATES.find((state) => unhealthy.some((part) => part.state === state && !spotOf(part.address)));
  const path = spots.map(
    ({ x, y, width, height }) => `M${fixed(x)} ${fixed(y)}h${fixed(width)}v${fixed(height)}h${fixed(-width)}z`,
  );
  return (
    <span class="cluster-miniature" aria-hidden="true" title={`A square is ${unit}.`}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
        <path class="up" d={path.join("")} />
        {beside && <rect class={`around ${beside}`} x="1" y="1" width={WIDTH - 2} height={HEIGHT - 2} rx="2" />}
        {marks.map(({ state, ...spot }, index) => (
          <rect key={index} class={state} rx="1" {...spot} />
        ))}
      </svg>
    </span>
  );
}
