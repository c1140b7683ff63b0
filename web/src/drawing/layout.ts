// Where the parts of a domain are drawn; trninv/drawing/layout.py places them the same.
export interface Part {
  address: string;
  kind: "chip" | "switch";
  ordinal: number;
  /** Null of a switch that is a rack's. */
  server: number | null;
  rack: number;
  state: string;
}

export interface Wire {
  address: string;
  a: string;
  b: string;
  /** GB/s of one direction when healthy, and now. */
  nominal: number;
  now: number;
  technology: string;
  state: string;
}

export interface Wiring {
  domain: string;
  wiring: string;
  parts: Part[];
  wires: Wire[];
}

export interface Point {
  x: number;
  y: number;
  /** Towards the reader. */
  depth?: number;
}

export type Layout = Map<string, Point>;

export const RADIUS = 11;
const PLANE = 300;
const COLUMN = 60;
const ROW = 104;
const SLANT = 24;
/** Of a switched domain: from chip to chip, and least width of a server and of what stands before its chips. */
const STEP = 30;
const RISE = 8;
const SERVER = 240;
const RACK = 190;

/** Server, row and column of a torus chip: device = columns × row + column. */
function coordinates({ server, ordinal }: Part, columns: number): [number, number, number] {
  return [server ?? 0, Math.floor(ordinal / columns), ordinal % columns];
}

function columns({ parts }: Wiring): number {
  return Math.sqrt(parts.filter((part) => part.server === 0 && part.kind === "chip").length);
}

export function flat(wiring: Wiring): Layout {
  return wiring.wiring === "switched" ? byRack(wiring) : byPlane(wiring);
}

/** Column to the right, row down, server a plane further right. */
function byPlane(wiring: Wiring): Layout {
  const side = columns(wiring);
  return new Map(
    wiring.parts.map((part) => {
      const [plane, row, column] = coordinates(part, side);
      return [part.address, { x: PLANE * plane + COLUMN * column, y: ROW * row + SLANT * column }];
    }),
  );
}

/** A column a rack, a row a server; switches outside of chips, a rack's own outermost; every second rack mirrored. */
function byRack({ parts }: Wiring): Layout {
  const racks = [...new Set(parts.map((part) => part.rack))].sort((a, b) => a - b);
  const servers = (rack: number) => [
    ...new Set(parts.flatMap((part) => (part.rack === rack && part.server !== null ? [part.server] : []))),
  ];
  const first = new Map(racks.map((rack) => [rack, Math.min(...servers(rack))]));
  const rows = Math.max(...racks.map((rack) => servers(rack).length));
  const chips = 1 + Math.max(...parts.map((part) => (part.kind === "chip" ? part.ordinal : 0)));
  const step = Math.max(STEP, SERVER / chips);
  const width = RACK + step * chips;
  const height = RISE * chips + 38;
  const layout: Layout = new Map();
  for (const rack of racks) {
    const at = racks.indexOf(rack);
    const [edge, way] = at % 2 ? [at * width + width - step, -1] : [at * width, 1];
    const shared = parts.filter((part) => part.rack === rack && part.server === null);
    shared.forEach((part, of) => {
      layout.set(part.address, { x: edge, y: (rows * height * (of + 0.5)) / shared.length });
    });
    for (const part of parts.filter((part) => part.rack === rack && part.server !== null)) {
      const top = ((part.server as number) - (first.get(rack) as number)) * height;
      const [x, along] = part.kind === "chip" ? [RACK - step + step * part.ordinal, part.ordinal] : [60, chips / 2];
      layout.set(part.address, { x: edge + way * x, y: top + RISE * along });
    }
  }
  return layout;
}

/** A torus seen from where it is turned to; angles in degrees. */
export function turned(wiring: Wiring, yaw: number, pitch: number): Layout {
  const side = columns(wiring);
  const planes = 1 + Math.max(...wiring.parts.map((part) => part.server ?? 0));
  const [a, b] = [(yaw * Math.PI) / 180, (pitch * Math.PI) / 180];
  return new Map(
    wiring.parts.map((part) => {
      const [plane, row, column] = coordinates(part, side);
      const [x, y, z] = [column - (side - 1) / 2, row - (side - 1) / 2, plane - (planes - 1) / 2].map(
        (of) => 110 * of,
      ) as [number, number, number];
      const away = z * Math.cos(a) - x * Math.sin(a);
      return [
        part.address,
        {
          x: x * Math.cos(a) + z * Math.sin(a),
          y: y * Math.cos(b) - away * Math.sin(b),
          depth: y * Math.sin(b) + away * Math.cos(b),
        },
      ];
    }),
  );
}

/** The wires that wrap around a torus. */
export function wraps(wiring: Wiring): Set<string> {
  if (wiring.wiring !== "torus") return new Set();
  const side = columns(wiring);
  const of = new Map(wiring.parts.map((part) => [part.address, coordinates(part, side)]));
  const far = ({ a, b }: Wire) => of.get(a)?.some((at, axis) => Math.abs(at - (of.get(b)?.[axis] ?? at)) > 1);
  return new Set(wiring.wires.filter(far).map((wire) => wire.address));
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export function box(layout: Layout, margin: number): Box {
  const xs = [...layout.values()].map((at) => at.x);
  const ys = [...layout.values()].map((at) => at.y);
  const [x, y] = [Math.min(...xs) - margin, Math.min(...ys) - margin];
  return { x, y, width: Math.max(...xs) + margin - x, height: Math.max(...ys) + margin - y };
}
