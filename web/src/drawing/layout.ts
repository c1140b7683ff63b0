// What a domain is made of, and where its parts are drawn: the service says where (trninv/topology/sketches).
export interface Part {
  address: string;
  kind: "chip" | "switch";
  ordinal: number;
  /** Null of a switch that is a rack's. */
  server: number | null;
  rack: number;
  state: string;
  /** Why it is not up. */
  why: string | undefined;
  /** The job that holds it. */
  job?: string | null;
  /** What a chip is to the next job. */
  use?: "allocated" | "free" | "unusable";
}

export interface Wire {
  address: string;
  a: string;
  b: string;
  /** GB/s of one direction when healthy, and now. */
  nominal: number;
  now: number;
  technology: string;
  /** SERVER: between parts of one; RACK, DOMAIN. */
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
  /** 0 far away to 1 near the reader. */
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

interface Solid extends Point {
  z: number;
}

/** A picture: flat, or seen from where it is turned to. */
export interface Layout {
  places: Map<string, Place>;
  routes: Map<string, Route>;
  panels: Box[];
  labels: Label[];
  box: Box;
  /** Height of texts, and width of the widest link. */
  font: number;
  strokeWidth: number;
}

export interface Wiring {
  domain: string;
  wiring: string;
  parts: Part[];
  wires: Wire[];
  flat: Layout;
  /** Places in space, about the domain's middle, of a wiring that can be turned; else empty. */
  solid: Map<string, Solid>;
  /** Links that lead around the back: in space a stub at either end. */
  wrapLinks: Set<string>;
}

const [STUB, MARGIN] = [26, 30];

/** A domain seen from where it is turned to; angles in degrees. On a narrow screen chips and texts are larger. */
export function rotate(wiring: Wiring, yaw: number, pitch: number, narrow: boolean): Layout {
  const [radius, font] = narrow ? [21, 22] : [17, 15];
  const [a, b] = [(yaw * Math.PI) / 180, (pitch * Math.PI) / 180];
  const far = reach(wiring);
  const places = new Map(
    [...wiring.solid].map(([address, { x, y, z }]): [string, Place] => {
      const away = z * Math.cos(a) - x * Math.sin(a);
      const point = { x: x * Math.cos(a) + z * Math.sin(a), y: y * Math.cos(b) - away * Math.sin(b) };
      const depth = (y * Math.sin(b) + away * Math.cos(b)) / far / 2 + 0.5;
      const wide = 2 * radius * (0.75 + depth / 4);
      const sign = { x: point.x + 0.38 * wide, y: point.y - 0.38 * wide };
      return [
        address,
        { ...point, depth, width: wide, height: wide, sign, text: wiring.flat.places.get(address)?.text ?? "" },
      ];
    }),
  );
  const side = far + MARGIN;
  return {
    places,
    routes: new Map(
      wiring.wires.map((wire) => [wire.address, routeOf(places, wire, wiring.wrapLinks.has(wire.address))]),
    ),
    panels: [],
    labels: wiring.parts
      .filter((part) => part.kind === "chip" && part.ordinal === 0)
      .map((part) => labelOf(places.get(part.address) as Place, `s${part.server}`)),
    box: { x: -side, y: -side, width: 2 * side, height: 2 * side },
    font,
    strokeWidth: 4,
  };
}

/** How far a domain reaches however it is turned; no less than an UltraServer, so that sizes compare. */
const reach = ({ solid }: Wiring) => Math.max(286, ...[...solid.values()].map(({ x, y, z }) => Math.hypot(x, y, z)));

const labelOf = (place: Place, text: string): Label => ({
  text,
  x: place.x - place.width / 2 - 4,
  y: place.y - place.height / 2 - 4,
  anchor: "end",
  strong: true,
});

/** A line between two parts; one that wraps around is a stub at either end. */
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
