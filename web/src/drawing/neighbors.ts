// Which part an arrow key leads to in the picture of a domain.
import type { Layout, Part, Place } from "./layout";

const ARROWS: Record<string, [number, number]> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

/** Return the next part in a direction; with Shift, the same part of the next server. */
export function neighborOf(parts: Part[], layout: Layout, from: Part, event: KeyboardEvent): string | undefined {
  const way = arrowOf(event);
  if (!way) return undefined;
  if (event.shiftKey) return beyond(parts, from, way[0] + way[1]);
  const places = parts.map(({ address }) => ({ address, ...(layout.places.get(address) as Place) }));
  return nearest(places, places[parts.indexOf(from)], way)?.address;
}

/** The direction of an arrow key. */
export const arrowOf = ({ key }: KeyboardEvent): [number, number] | undefined => ARROWS[key];

/** Return the same chip or switch of the next or previous server. */
function beyond(parts: Part[], { address, kind, ordinal, server }: Part, step: number): string {
  if (server === null) return address;
  const next = (part: Part) =>
    part.server === server + step && part.kind === kind && (kind === "switch" || part.ordinal === ordinal);
  return parts.find(next)?.address ?? address;
}

/** Return the nearest place in a direction of the picture, or the one from which there is none. */
export function nearest<P extends { x: number; y: number }>(
  places: P[],
  from: P | undefined,
  [dx, dy]: [number, number],
): P | undefined {
  let best = from;
  let least = Number.POSITIVE_INFINITY;
  for (const there of from ? places : []) {
    const [x, y] = [there.x - (from?.x ?? 0), there.y - (from?.y ?? 0)];
    const [along, aside] = [x * dx + y * dy, Math.abs(x * dy) + Math.abs(y * dx)];
    if (along > 1 && along + 3 * aside < least) [best, least] = [there, along + 3 * aside];
  }
  return best;
}
