// The parts of a domain and their positions, which the service computes (trninv/topology/sketches).
export interface Part {
  address: string;
  kind: "chip" | "switch";
  ordinal: number;
  /** Null for a rack's switch. */
  server: number | null;
  rack: number;
  state: string;
  /** Why it is unhealthy. */
  why: string | undefined;
  /** The job that it is allocated to. */
  job?: string | null;
}

export interface Wire {
  address: string;
  a: string;
  b: string;
  /** GB/s in one direction, when healthy and now. */
  nominal: number;
  now: number;
  technology: string;
  /** SERVER for links inside a server; RACK, DOMAIN. */
  scope: string;
  state: string;
}

export interface Point {
  x: number;
  y: number;
}

export interface Place extends Point {
  width: number;
  height: number;
  text: string;
  sign: Point;
  /** From 0, far away, to 1, near the viewer. */
  depth?: number;
}

export interface Route {
  strokes: Point[][];
  sign: Point;
}

export interface Box extends Point {
  width: number;
  height: number;
}

export interface Label extends Point {
  text: string;
  anchor: string;
  strong: boolean;
}

/** The sheet in which a server's chips lie. */
export interface Plane {
  server: number;
  corners: Point[];
  label: Label;
}

interface Solid extends Point {
  z: number;
}

/** A picture, flat or from a viewing angle. */
export interface Layout {
  places: Map<string, Place>;
  routes: Map<string, Route>;
  panels: Box[];
  labels: Label[];
  /** Of a picture in space, the sheet of each server, the farthest first. */
  planes?: Plane[];
  box: Box;
  /** Height of text, and width of the widest link. */
  font: number;
  strokeWidth: number;
}

export interface Wiring {
  domain: string;
  wiring: string;
  parts: Part[];
  wires: Wire[];
  flat: Layout;
  /** Positions in space around the domain's center; empty if the wiring cannot be turned. */
  solid: Map<string, Solid>;
  /** Links that wrap around the torus, drawn in space as a stub at either end. */
  wrapLinks: Set<string>;
}

const STUB = 26;
/** How far a sheet reaches beyond its outer chips. */
const EDGE = 40;
/** How much farther apart sheets are drawn than they are wide, so that they can be told apart. */
const SPREAD = 3.8;
/** Space around the sheets, in which their names stand. */
const [SIDE, ABOVE] = [30, 40];
/** Length of a line's ends that are drawn above the gap around a chip, from the chip's edge. */
const END = 5;

type Projected = Point & { depth: number };

/** A domain from a viewing angle, in degrees, as large as its frame. */
export function rotate(wiring: Wiring, yaw: number, pitch: number): Layout {
  const [radius, font, width, height] = [18, 15, 900, 540];
  const [a, b] = [(yaw * Math.PI) / 180, (pitch * Math.PI) / 180];
  const turn = ({ x, y, z }: Solid): Projected => {
    const away = SPREAD * z * Math.cos(a) - x * Math.sin(a);
    return {
      x: x * Math.cos(a) + SPREAD * z * Math.sin(a),
      y: y * Math.cos(b) - away * Math.sin(b),
      depth: y * Math.sin(b) + away * Math.cos(b),
    };
  };
  const sheets = sheetsOf(wiring);
  const all = [...wiring.solid.values(), ...sheets.flatMap(({ corners }) => corners)].map(turn);
  const [xs, ys, depths] = [all.map(({ x }) => x), all.map(({ y }) => y), all.map(({ depth }) => depth)];
  const [left, top, far] = [Math.min(...xs), Math.min(...ys), Math.min(...depths)];
  const [right, bottom, near] = [Math.max(...xs), Math.max(...ys), Math.max(...depths)];
  const scale = Math.min((width - 2 * SIDE) / (right - left), (height - 2 * ABOVE) / (bottom - top));
  const project = (solid: Solid): Projected => {
    const { x, y, depth } = turn(solid);
    return {
      x: (x - (left + right) / 2) * scale,
      y: (y - (top + bottom) / 2) * scale,
      depth: (depth - far) / (near - far || 1),
    };
  };
  const servers = new Map(wiring.parts.map(({ address, server }) => [address, server]));
  const middles = new Map(
    sheets.map(({ server, corners }) => {
      const [first, , third] = corners.map(project);
      return [server, ((first?.depth ?? 0) + (third?.depth ?? 0)) / 2];
    }),
  );
  const [nearest, farthest] = [Math.max(...middles.values()), Math.min(...middles.values())];
  /** One depth for all chips of a sheet, so that equal links look equal. */
  const depthOf = (address: string, own: number) => {
    const middle = middles.get(servers.get(address) ?? -1);
    return middle === undefined ? own : (middle - farthest) / (nearest - farthest || 1);
  };
  const places = new Map(
    [...wiring.solid].map(([address, solid]): [string, Place] => {
      const { depth: own, ...point } = project(solid);
      const depth = depthOf(address, own);
      const wide = 2 * radius * (0.8 + depth / 5);
      const sign = { x: point.x + 0.38 * wide, y: point.y - 0.38 * wide };
      return [
        address,
        { ...point, depth, width: wide, height: wide, sign, text: wiring.flat.places.get(address)?.text ?? "" },
      ];
    }),
  );
  const box = { x: -width / 2, y: -height / 2, width, height };
  return {
    places,
    routes: new Map(
      wiring.wires.map((wire) => [wire.address, routeOf(places, wire, wiring.wrapLinks.has(wire.address))]),
    ),
    panels: [],
    labels: [],
    planes: planesOf(sheets, project),
    box,
    font,
    strokeWidth: 4,
  };
}

interface Sheet {
  server: number;
  corners: Solid[];
}

/** The sheet of each server whose chips lie in one. */
function sheetsOf({ parts, solid: positions }: Wiring): Sheet[] {
  const servers = new Map<number, Solid[]>();
  for (const { address, server } of parts) {
    const solid = positions.get(address);
    if (solid && server !== null) servers.set(server, [...(servers.get(server) ?? []), solid]);
  }
  return [...servers].flatMap(([server, chips]) => {
    const [xs, ys, zs] = [chips.map(({ x }) => x), chips.map(({ y }) => y), chips.map(({ z }) => z)];
    const z = zs[0] ?? 0;
    if (zs.some((other) => other !== z)) return [];
    const [left, right] = [Math.min(...xs) - EDGE, Math.max(...xs) + EDGE];
    const [top, bottom] = [Math.min(...ys) - EDGE, Math.max(...ys) + EDGE];
    const corners = [
      { x: left, y: top, z },
      { x: right, y: top, z },
      { x: right, y: bottom, z },
      { x: left, y: bottom, z },
    ];
    return [{ server, corners }];
  });
}

/** The sheets, the farthest first, each with its name beside a corner that no other covers. */
function planesOf(sheets: Sheet[], project: (solid: Solid) => Projected): Plane[] {
  const drawn = sheets.map(({ server, corners }) => {
    const projected = corners.map(project);
    return { server, corners: projected, depth: projected.reduce((sum, { depth }) => sum + depth, 0) };
  });
  drawn.sort((a, b) => a.depth - b.depth);
  const [far, near] = [drawn[0]?.corners[0], drawn.at(-1)?.corners[0]];
  // sheets shifted to the lower right, or to the upper left, leave their upper right and lower left corners free
  const [across, down] = [(near?.x ?? 0) < (far?.x ?? 0) ? -1 : 1, (near?.y ?? 0) < (far?.y ?? 0) ? 1 : -1];
  const outside = ({ x, y }: Point) => across * x + down * y;
  return drawn.map(({ server, corners }) => {
    const { x, y } = corners.reduce((a, b) => (outside(b) > outside(a) ? b : a));
    const anchor = across > 0 ? "end" : "start";
    return {
      server,
      corners,
      label: { text: `s${server}`, x, y: y + (down > 0 ? 19 : -8), anchor, strong: true },
    };
  });
}

/** The pieces of a line at its two chips, which tell its ends from chips that it passes. */
export function endsOf(route: Route, { places }: Layout, { a, b }: Wire): Route {
  const piece = (from: Point, to: Point, { width }: Place): Point[] => {
    const part = (width / 2 + END) / Math.max(Math.hypot(to.x - from.x, to.y - from.y), 1);
    return [from, { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part }];
  };
  const [first, last = first] = route.strokes;
  const [from, to] = [places.get(a), places.get(b)];
  if (!first || !last || !from || !to) return route;
  const [start, next] = first as [Point, Point];
  // a link that wraps around is a stub at either chip, which begins there
  const [end, previous] = (first === last ? [next, start] : last) as [Point, Point];
  return { ...route, strokes: [piece(start, next, from), piece(end, previous, to)] };
}

/** A line between two parts; a link that wraps around is a stub at either end. */
function routeOf(places: Map<string, Place>, { a, b }: Wire, wraps: boolean): Route {
  const [from, to] = [places.get(a) as Place, places.get(b) as Place];
  if (!wraps) return { strokes: [[from, to]], sign: { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 } };
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const part = STUB / Math.max(Math.hypot(dx, dy), 1);
  const end = { x: from.x - dx * part, y: from.y - dy * part };
  return {
    strokes: [
      [from, end],
      [to, { x: to.x + dx * part, y: to.y + dy * part }],
    ],
    sign: end,
  };
}
