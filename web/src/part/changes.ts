// The history of a part with the parts in it: one entry for each change, whatever number of parts it took.
import { nounOf } from "../state";
import { number, pluralize, relativeTo, shortenAddress } from "../words";
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

/** The kind of the part of an address. */
export function kindOf(address: string): string {
  if (address.includes("--")) return "link";
  const end = address.split("/").at(-1) ?? "";
  const kinds: Record<string, string> = { c: "chip", s: "server", sw: "switch", efa: "nic", d: "domain" };
  return kinds[end.replace(/\d+$/, "")] ?? "part";
}

/** Name a few parts, and count more of them: c11; 33: 16 chips, 16 NICs, 1 server. */
export function describeParts(addresses: string[], place: string): string {
  const domain = place.split("/").slice(0, 2).join("/");
  const short = (address: string) =>
    address === place
      ? `${kindOf(address)} ${address.split("/").at(-1)}`
      : relativeTo(relativeTo(domain, place), shortenAddress(relativeTo(domain, address)));
  if (addresses.length <= 3) return addresses.map(short).join(", ");
  const counts = new Map<string, number>();
  for (const address of addresses) counts.set(kindOf(address), (counts.get(kindOf(address)) ?? 0) + 1);
  const kinds = [...counts].sort((a, b) => b[1] - a[1]).map(([kind, count]) => pluralize(count, nounOf(kind)));
  return `${number(addresses.length)}: ${kinds.join(", ")}`;
}
