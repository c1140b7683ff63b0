// What a domain is made of, and where its parts are drawn: the service says where (trninv/topology/patterns).
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

export interface Point {
  x: number;
  y: number;
  /** Towards the reader. */
  depth?: number;
}

export type Layout = Map<string, Point>;

interface Solid {
  x: number;
  y: number;
  z: number;
}

export interface Wiring {
  domain: string;
  wiring: string;
  parts: Part[];
  wires: Wire[];
  flat: Layout;
  /** Places in space, about the domain's middle, of a wiring that can be turned; else empty. */
  solid: Map<string, Solid>;
  /** Links that lead around the back: a stub at either end. */
  wrapping: Set<string>;
}

export const RADIUS = 11;

/** A domain seen from where it is turned to; angles in degrees. */
export function turned(wiring: Wiring, yaw: number, pitch: number): Layout {
  const [a, b] = [(yaw * Math.PI) / 180, (pitch * Math.PI) / 180];
  return new Map(
    [...wiring.solid].map(([address, { x, y, z }]) => {
      const away = z * Math.cos(a) - x * Math.sin(a);
      return [
        address,
        {
          x: x * Math.cos(a) + z * Math.sin(a),
          y: y * Math.cos(b) - away * Math.sin(b),
          depth: y * Math.sin(b) + away * Math.cos(b),
        },
      ];
    }),
  );
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

/** The box that holds a domain however it is turned; no smaller than that of an UltraServer, so that sizes compare. */
export function ball({ solid }: Wiring, margin: number): Box {
  const radius = Math.max(286, ...[...solid.values()].map(({ x, y, z }) => Math.hypot(x, y, z))) + margin;
  return { x: -radius, y: -radius, width: 2 * radius, height: 2 * radius };
}
