// The history of a part with the parts in it: one entry for each change, whatever number of parts it took.
import { countKinds, kindOf } from "../kinds";
import { number, relativeTo, shortenAddress } from "../words";
import type { PastEvent } from "./documents";

export interface PartChange {
  /** The part that was changed itself, before those that changed with it. */
  event: PastEvent;
  addresses: string[];
}

/** Group events by change, the newest first; without the oldest if it may be incomplete, and without other jobs. */
export function changesOf(events: PastEvent[], all: number, place: string, jobs: string[]): PartChange[] {
  const groups = new Map<number, PastEvent[]>();
  for (const event of events) {
    // a job's event is at the smallest place that holds its chips, which need not hold this part's
    if (event.action && !isWithin(event.address, place) && !jobs.includes(event.job ?? "")) continue;
    const key = event.batch ?? event.event;
    groups.set(key, [...(groups.get(key) ?? []), event]);
  }
  const whole = [...groups.values()].slice(events.length < all && groups.size > 1 ? 1 : 0);
  return whole.reverse().map((group) => ({
    event: group.find(({ cascaded }) => !cascaded) ?? (group[0] as PastEvent),
    addresses: [...new Set(group.map(({ address }) => address))],
  }));
}

/** The last change of the state of the part itself. */
export const ownChange = (events: PastEvent[], place: string): PastEvent | null =>
  events.findLast((event) => event.address === place && !event.action) ?? null;

const isWithin = (address: string, place: string) => address === place || address.startsWith(`${place}/`);

/** Name a few parts, and count more of them: c11; 33: 16 chips, 16 NICs, 1 server. */
export function describeParts(addresses: string[], place: string): string {
  const domain = place.split("/").slice(0, 2).join("/");
  const short = (address: string) =>
    address === place
      ? `${kindOf(address)} ${address.split("/").at(-1)}`
      : relativeTo(relativeTo(domain, place), shortenAddress(relativeTo(domain, address)));
  if (addresses.length <= 3) return addresses.map(short).join(", ");
  return `${number(addresses.length)}: ${countKinds(addresses)}`;
}
