// The kinds of parts by their addresses.
import { nounOf } from "./state";
import { pluralize } from "./words";

/** The kind of the part of an address. */
export function kindOf(address: string): string {
  if (address.includes("--")) return "link";
  const end = address.split("/").at(-1) ?? "";
  const kinds: Record<string, string> = { c: "chip", s: "server", sw: "switch", efa: "nic", d: "domain" };
  return kinds[end.replace(/\d+$/, "")] ?? "part";
}

/** Count parts by kind, most first: 8 chips, 4 links. */
export function countKinds(addresses: string[]): string {
  const counts = new Map<string, number>();
  for (const address of addresses) counts.set(kindOf(address), (counts.get(kindOf(address)) ?? 0) + 1);
  const kinds = [...counts].sort((a, b) => b[1] - a[1]);
  return kinds.map(([kind, count]) => pluralize(count, nounOf(kind))).join(", ");
}
