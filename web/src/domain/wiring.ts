// A domain as drawn: its parts with their states, at the positions from the service.
import { useEffect, useState } from "preact/hooks";
import type { Result } from "../api";
import type { Box, Point, Wiring } from "../drawing/layout";
import type { WIRING } from "./documents";

export type Domain = Extract<Result<typeof WIRING>["resolve"], { wiring: string }>;
export type LayoutAnswer = Result<typeof WIRING>["layout"];

const NARROW = "(max-width: 700px)";

/** Whether the screen is as narrow as a phone's. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
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

/** Stacked racks, as on a phone, with those first that hold unhealthy parts. */
export function failedFirst(wiring: Wiring): Wiring {
  const { flat, parts } = wiring;
  const panels = [...flat.panels].sort((a, b) => a.y - b.y);
  const isIn = (panel: Box) => (y: number) => y >= panel.y && y <= panel.y + panel.height;
  const failed = parts.filter(({ state }) => state !== "up").map(({ address }) => flat.places.get(address)?.y ?? 0);
  const order = [...panels].sort((a, b) => Number(failed.some(isIn(b))) - Number(failed.some(isIn(a))));
  if (order.every((panel, index) => panel === panels[index])) return wiring;
  const gap = (panels[1] as Box).y - (panels[0] as Box).y - (panels[0] as Box).height;
  let top = (panels[0] as Box).y;
  const moves = new Map<Box, number>();
  for (const panel of order) {
    moves.set(panel, top - panel.y);
    top += panel.height + gap;
  }
  const y = (old: number) => old + (moves.get(panels.find((panel) => isIn(panel)(old)) as Box) ?? 0);
  const move = <P extends Point>(place: P): P => ({ ...place, y: y(place.y) });
  return {
    ...wiring,
    flat: {
      ...flat,
      panels: order.map(move),
      labels: flat.labels.map(move),
      places: new Map([...flat.places].map(([key, place]) => [key, { ...move(place), sign: move(place.sign) }])),
      routes: new Map(
        [...flat.routes].map(([key, { strokes, sign }]) => {
          const moved = strokes.map((stroke) => stroke.map(move));
          const ends = [moved[0]?.[0]?.y ?? 0, moved.at(-1)?.at(-1)?.y ?? 0] as const;
          // between two racks, the sign is in the middle of the link
          const isAcross = new Set(strokes.flat().map(({ y }) => panels.findIndex((panel) => isIn(panel)(y)))).size > 1;
          return [key, { strokes: moved, sign: isAcross ? { ...sign, y: (ends[0] + ends[1]) / 2 } : move(sign) }];
        }),
      ),
    },
  };
}

const point = ([x = 0, y = 0]: number[]): Point => ({ x, y });

/** Pair up x and y coordinates from a flat list. */
const points = (flat: number[]): Point[] =>
  flat.flatMap((x, index) => (index % 2 ? [] : [{ x, y: flat[index + 1] as number }]));
