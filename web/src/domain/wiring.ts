// A domain as drawn: its parts with their states, at the positions from the service.
import { useEffect, useState } from "preact/hooks";
import type { Result } from "../api";
import type { Point, Wiring } from "../drawing/layout";
import type { WIRING } from "./documents";

export type Domain = Extract<Result<typeof WIRING>["resolve"], { wiring: string }>;
export type LayoutAnswer = Result<typeof WIRING>["layout"];

/** Whether the screen is not wider than so many pixels; by default, than a phone's. */
export function useNarrow(pixels = 700): boolean {
  const most = `(max-width: ${pixels}px)`;
  const [narrow, setNarrow] = useState(() => matchMedia(most).matches);
  useEffect(() => {
    const query = matchMedia(most);
    const changed = () => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return narrow;
}

export function wiringOf(domain: Domain, placed: LayoutAnswer): Wiring {
  const servers = domain.servers.nodes;
  const why = <T extends { state: string; lastChange: { why: string } | null }>({ lastChange, ...part }: T) => ({
    ...part,
    why: part.state === "up" ? undefined : lastChange?.why,
  });
  return {
    domain: domain.address,
    wiring: domain.wiring,
    parts: [
      ...servers.flatMap((server) =>
        server.chips.nodes.map((chip) => ({
          ...why(chip),
          kind: "chip" as const,
          server: server.ordinal,
          rack: server.rack.ordinal,
        })),
      ),
      ...domain.switches.nodes.map((node) => ({
        ...why(node),
        kind: "switch" as const,
        server: node.server?.ordinal ?? null,
        rack: node.rack.ordinal,
      })),
    ],
    wires: domain.links.nodes.map((link) => ({
      ...link,
      a: link.a.address,
      b: link.b.address,
      nominal: link.nominal.gigabytesPerSecond,
      now: link.bandwidth.gigabytesPerSecond,
    })),
    flat: {
      ...placed,
      places: new Map(placed.places.map((place) => [place.address, { ...place, sign: point(place.sign) }])),
      routes: new Map(
        placed.routes.map(({ address, strokes, sign }) => [
          address,
          { strokes: strokes.map(points), sign: point(sign) },
        ]),
      ),
    },
    solid: new Map(placed.places.flatMap(({ address, solid }) => (solid ? [[address, solid]] : []))),
    wrapLinks: new Set(placed.wrapLinks),
  };
}

const point = ([x = 0, y = 0]: number[]): Point => ({ x, y });

/** Pair up x and y coordinates from a flat list. */
const points = (flat: number[]): Point[] =>
  flat.flatMap((x, index) => (index % 2 ? [] : [{ x, y: flat[index + 1] as number }]));
