// Where the arrow keys lead in the picture of a domain.
import type { Layout, Part, Place } from "./layout";

const ARROWS: Record<string, [number, number]> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

/** The part that an arrow key leads to: the next one that way, with Shift the same of the next server. */
export function neighborOf(parts: Part[], layout: Layout, from: Part, event: KeyboardEvent): string | undefined {
  const way = ARROWS[event.key];
  if (!way) return undefined;
  return event.shiftKey ? beyond(parts, from, way[0] + way[1]) : nearest(parts, layout, from.address, way);
}

/** The same chip or switch of the next server or the one before. */
function beyond(parts: Part[], { address, kind, ordinal, server }: Part, step: number): string {
  if (server === null) return address;
  const next = (part: Part) =>
    part.server === server + step && part.kind === kind && (kind === "switch" || part.ordinal === ordinal);
  return parts.find(next)?.address ?? address;
}

/** The part next to one in a direction of the picture. */
function nearest(parts: Part[], { places }: Layout, from: string, [dx, dy]: [number, number]): string {
  const here = places.get(from) as Place;
  let best = from;
  let least = Number.POSITIVE_INFINITY;
  for (const { address } of parts) {
    const there = places.get(address) as Place;
    const along = (there.x - here.x) * dx + (there.y - here.y) * dy;
    const aside = Math.abs((there.x - here.x) * dy) + Math.abs((there.y - here.y) * dx);
    if (along > 1 && along + 3 * aside < least) [best, least] = [address, along + 3 * aside];
  }
  return best;
}
