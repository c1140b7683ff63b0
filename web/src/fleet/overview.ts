// Every chip of a cluster at once: the packed list of /chips, where each chip is drawn, and in which colour.
export const STATES = ["up", "degraded", "down", "maintenance"] as const;

/** Domains of one model, which follow each other; first…: the numbers at which they begin. */
export interface Part {
  domains: number;
  perServer: number;
  perDomain: number;
  serversPerRack: number;
  firstDomain: number;
  firstChip: number;
  firstRack: number;
}

export interface Overview {
  cluster: string;
  chips: number;
  domains: number;
  parts: Part[];
  states: Uint8Array;
  pools: Uint8Array;
}

const FIXED = 12;

/** The packed list as trninv/routing/overview.py writes it. */
export function unpacked(cluster: string, packed: ArrayBuffer): Overview {
  const view = new DataView(packed);
  const at = (place: number) => view.getUint32(4 + 4 * place, true);
  const [version, chips] = [at(0), at(1)];
  if (view.getUint32(0, false) !== 0x54524e49 || (version !== 1 && version !== 2))
    throw new Error("the list of chips is of another version");
  const sizes =
    version === 1
      ? [[chips / (at(2) * at(3)), at(3), at(2), at(4)]]
      : Array.from({ length: at(2) }, (_, part) => [0, 1, 2, 3].map((size) => at(3 + 4 * part + size)));
  const header = FIXED + (version === 1 ? 12 : 4 + 16 * sizes.length);
  const parts = partsOf(sizes as [number, number, number, number][]);
  return {
    cluster,
    chips,
    domains: parts.reduce((sum, part) => sum + part.domains, 0),
    parts,
    states: new Uint8Array(packed, header, chips),
    pools: new Uint8Array(packed, header + chips, chips),
  };
}

function partsOf(sizes: [number, number, number, number][]): Part[] {
  let [firstDomain, firstChip, firstRack] = [0, 0, 0];
  return sizes.map(([domains, servers, perServer, serversPerRack]) => {
    const perDomain = servers * perServer;
    const part = { domains, perServer, perDomain, serversPerRack, firstDomain, firstChip, firstRack };
    firstDomain += domains;
    firstChip += domains * perDomain;
    firstRack += Math.ceil((domains * servers) / serversPerRack);
    return part;
  });
}

/** Its part, its domain's number, and its own within the domain. */
function placeOf(of: Overview, chip: number): [Part, number, number] {
  const part = of.parts.findLast((each) => each.firstChip <= chip) as Part;
  const within = chip - part.firstChip;
  return [part, part.firstDomain + Math.floor(within / part.perDomain), within % part.perDomain];
}

/** The first chip of a domain, and how many it has. */
function chipsOf(of: Overview, domain: number): [number, number] {
  const part = of.parts.findLast((each) => each.firstDomain <= domain) as Part;
  return [part.firstChip + (domain - part.firstDomain) * part.perDomain, part.perDomain];
}

export function addressOf(of: Overview, chip: number): string {
  const [{ perServer }, domain, inside] = placeOf(of, chip);
  return `${of.cluster}/d${domain}/s${Math.floor(inside / perServer)}/c${inside % perServer}`;
}

export const domainOf = (address: string) => address.split("/").slice(0, 2).join("/");

export function rackOf(of: Overview, chip: number): number {
  const [{ perServer, serversPerRack, firstRack, firstChip }] = placeOf(of, chip);
  return firstRack + Math.floor((chip - firstChip) / perServer / serversPerRack);
}

/** Which fifth of its domain a chip's pool is in. */
export const fifthOf = (of: Overview, chip: number) => fifth(of.pools[chip] ?? 0, placeOf(of, chip)[0].perDomain);

/** Tiles of a chip each, one a domain, with a cell between; trninv/drawing/fleet.py lays them out the same. */
export interface Grid {
  /** Cells along one side of a tile, its gap left out. */
  side: number;
  columns: number;
  width: number;
  height: number;
}

const ASPECT = 1.6;

export function grid({ domains, parts }: Overview): Grid {
  const side = Math.ceil(Math.sqrt(Math.max(...parts.map((part) => part.perDomain))));
  const columns = Math.ceil(Math.sqrt(domains * ASPECT));
  const rows = Math.ceil(domains / columns);
  return { side, columns, width: columns * (side + 1) + 1, height: rows * (side + 1) + 1 };
}

export function cellOf(of: Overview, { side, columns }: Grid, chip: number): [number, number] {
  const [, domain, inside] = placeOf(of, chip);
  const [column, row] = [domain % columns, Math.floor(domain / columns)];
  return [1 + column * (side + 1) + (inside % side), 1 + row * (side + 1) + Math.floor(inside / side)];
}

/** The chip that is drawn in a cell, or -1. */
export function chipAt(of: Overview, { side, columns }: Grid, x: number, y: number): number {
  const [column, row] = [Math.floor((x - 1) / (side + 1)), Math.floor((y - 1) / (side + 1))];
  const [dx, dy] = [Math.floor(x - 1 - column * (side + 1)), Math.floor(y - 1 - row * (side + 1))];
  const [domain, inside] = [row * columns + column, dy * side + dx];
  if (column < 0 || column >= columns || row < 0 || dx >= side || dy >= side || domain >= of.domains) return -1;
  const [first, chips] = chipsOf(of, domain);
  return inside < chips ? first + inside : -1;
}

export const COLOURINGS = { state: "State", pool: "Memory pool", rack: "Rack", domain: "Domain" };
export type Colouring = keyof typeof COLOURINGS;

export const STATE_COLOURS = ["#3d9a73", "#e0a526", "#d6453d", "#8b6fc4"];
export const POOL_COLOURS = ["#d6453d", "#e07b39", "#e0a526", "#9cc36b", "#3d9a73"];
export const PLACE_COLOURS = ["#4269d0", "#efb118", "#3ca951", "#a463f2", "#ff725c", "#6cc5b0", "#9c6b4e", "#97bbf5"];

/** Fifths of the largest pool there could be: which of them a pool is in. */
const fifth = (pool: number, most: number) => Math.min(4, Math.floor((5 * pool) / most));

function colourOf(of: Overview, colouring: Colouring, chip: number): string {
  const pick = (all: string[], at: number) => all[at % all.length] as string;
  switch (colouring) {
    case "state":
      return pick(STATE_COLOURS, of.states[chip] ?? 0);
    case "pool":
      return pick(POOL_COLOURS, fifthOf(of, chip));
    case "rack":
      return pick(PLACE_COLOURS, rackOf(of, chip));
    case "domain":
      return pick(PLACE_COLOURS, placeOf(of, chip)[1]);
  }
}

/** One pixel a cell. */
export function pixels(of: Overview, to: Grid, colouring: Colouring): ImageData {
  const image = new ImageData(to.width, to.height);
  const words = new Uint32Array(image.data.buffer);
  const known = new Map<string, number>();
  const word = (colour: string) => {
    if (!known.has(colour)) {
      const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
      known.set(colour, (255 << 24) | (b << 16) | (g << 8) | r);
    }
    return known.get(colour) as number;
  };
  for (let chip = 0; chip < of.chips; chip++) {
    const [x, y] = cellOf(of, to, chip);
    words[y * to.width + x] = word(colourOf(of, colouring, chip));
  }
  return image;
}

/** The same as a document: a path a colour, whole domains of one colour as one square. */
export function overviewSvg(of: Overview, colouring: Colouring, paper: string): string {
  const to = grid(of);
  const paths = new Map<string, string[]>();
  const add = (colour: string, path: string) => {
    if (!paths.has(colour)) paths.set(colour, []);
    paths.get(colour)?.push(path);
  };
  for (let domain = 0; domain < of.domains; domain++) {
    const [first, chips] = chipsOf(of, domain);
    const colours = Array.from({ length: chips }, (_, at) => colourOf(of, colouring, first + at));
    const square = chips === to.side ** 2 && colours.every((colour) => colour === colours[0]);
    for (let at = 0; at < (square ? 1 : chips); at++) {
      const [x, y] = cellOf(of, to, first + at);
      const side = square ? to.side : 1;
      add(colours[at] as string, `M${x} ${y}h${side}v${side}h-${side}z`);
    }
  }
  const shapes = [...paths].sort().map(([colour, path]) => `<path fill="${colour}" d="${path.join("")}"/>`);
  const box = `viewBox="0 0 ${to.width} ${to.height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${box} shape-rendering="crispEdges"><title>${escaped(of.cluster)}</title><rect width="100%" height="100%" fill="${paper}"/>${shapes.join("")}</svg>\n`;
}

const escaped = (text: string) => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
