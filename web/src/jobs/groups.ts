// Placements that are equally good as one group.
import type { Placement } from "./documents";

/** Whether the two halves of a placement are connected; a single chip counts as connected. */
export const isConnected = ({ chips, bisection }: Pick<Placement, "chips" | "bisection">) =>
  chips < 2 || bisection.gigabytesPerSecond > 0;

export interface Group {
  placements: Placement[];
  isConnected: boolean;
}

const keyOf = (placement: Placement) =>
  JSON.stringify([
    isConnected(placement),
    placement.allGather.gigabytesPerSecond,
    placement.bisection.gigabytesPerSecond,
    placement.degraded,
    placement.shape,
    placement.servers.length,
    placement.remainingFree,
  ]);

/** Group placements of the same value, in the order of the first of each, with those that are not connected last. */
export function groupPlacements(placements: Placement[]): Group[] {
  const groups = new Map<string, Group>();
  for (const placement of placements) {
    const key = keyOf(placement);
    const group = groups.get(key) ?? { placements: [], isConnected: isConnected(placement) };
    group.placements.push(placement);
    groups.set(key, group);
  }
  const all = [...groups.values()];
  return [...all.filter((group) => group.isConnected), ...all.filter((group) => !group.isConnected)];
}

/** Merge the best placements of several places; each list is in the service's order. */
export const merge = (lists: Placement[][]): Placement[] =>
  lists
    .flat()
    .sort(
      (a, b) =>
        b.allGather.gigabytesPerSecond - a.allGather.gigabytesPerSecond ||
        b.bisection.gigabytesPerSecond - a.bisection.gigabytesPerSecond,
    );
