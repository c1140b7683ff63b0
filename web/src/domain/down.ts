// What is supposed down: as the address of the view names it, and all that this takes along.
import type { Part, Wire, Wiring } from "../drawing/layout";
import { within } from "../words";

/** Addresses of a list such as s0/c3,s1,s0/c0--s0/c1; a link's ends in either order. */
export function named({ domain, wires }: Wiring, list: string | undefined): string[] {
  const asGiven = (list ?? "").toLowerCase().split(",").filter(Boolean);
  const whole = asGiven.map((short) => within(domain, short));
  const turned = (address: string) => address.split("--").reverse().join("--");
  const known = new Set(wires.map((wire) => wire.address));
  return [...new Set(whole.map((address) => (known.has(turned(address)) ? turned(address) : address)))];
}

/** The parts and links that carry nothing when these are down, or by their own state. */
export function lost({ domain, parts, wires }: Wiring, down: string[]): Set<string> {
  const off = ({ address, state }: Part | Wire) =>
    state === "down" || state === "maintenance" || down.includes(address);
  const taken = (part: Part) =>
    down.includes(domain) ||
    down.includes(`${domain}/s${part.server}`) ||
    down.some((address) => address.startsWith(`${part.address}/nc`));
  const gone = new Set(parts.filter((part) => off(part) || taken(part)).map((part) => part.address));
  const cut = wires.filter((wire) => off(wire) || gone.has(wire.a) || gone.has(wire.b));
  return new Set([...gone, ...cut.map((wire) => wire.address)]);
}
