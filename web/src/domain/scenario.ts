// The scenario in the page's options: down=s0/c3,s1 and derate=s0/c0--s0/c1=0.5; and its consequences.
import type { Part, Wiring } from "../drawing/layout";
import { change } from "../route";
import { stateWord } from "../state";
import { absoluteIn, relativeTo } from "../words";

export interface Scenario {
  /** Addresses of parts that carry nothing. */
  down: string[];
  /** Addresses of degraded parts with the fraction they carry. */
  derate: { address: string; factor: number }[];
}

/** Parse a list such as s0/c3,s1,s0/c0--s0/c1; a link's ends may be in either order. */
function parseAddresses({ domain, wires }: Wiring, list: string | undefined): string[] {
  const asGiven = (list ?? "").toLowerCase().split(",").filter(Boolean);
  const addresses = new Set(wires.map((wire) => wire.address));
  const turned = (address: string) => address.split("--").reverse().join("--");
  const whole = asGiven.map((short) => absoluteIn(domain, short));
  return [...new Set(whole.map((address) => (addresses.has(turned(address)) ? turned(address) : address)))];
}

export function scenarioOf(wiring: Wiring, options: Record<string, string>): Scenario {
  const down = parseAddresses(wiring, options.down);
  const derated = new Map<string, number>();
  for (const item of (options.derate ?? "").split(",")) {
    const [short, factor] = item.split("=");
    const [address] = parseAddresses(wiring, short);
    const part = Number(factor);
    if (address && part > 0 && part < 1 && !down.includes(address)) derated.set(address, part);
  }
  return { down, derate: [...derated].map(([address, factor]) => ({ address, factor })) };
}

export const isChanged = ({ down, derate }: Scenario) => down.length + derate.length > 0;

/** The fraction that the scenario assumes a part to carry: 0 if down, 1 if unchanged. */
export function factorOf({ down, derate }: Scenario, address: string): number {
  return down.includes(address) ? 0 : (derate.find((item) => item.address === address)?.factor ?? 1);
}

/** Assume that a part carries a fraction: 0 is down, 1 unchanged. */
export function setFactor(domain: string, { down, derate }: Scenario, address: string, part: number): void {
  const others = derate.filter((item) => item.address !== address);
  const next = part > 0 && part < 1 ? [...others, { address, factor: part }] : others;
  const without = down.filter((other) => other !== address);
  const short = (place: string) => relativeTo(domain, place);
  change({
    down: (part === 0 ? [...without, address] : without).map(short).join(",") || undefined,
    derate: next.map((item) => `${short(item.address)}=${item.factor}`).join(",") || undefined,
  });
}

/** The parts and links that carry nothing: those that the service says so of, and those that the scenario takes down. */
export function idleParts({ domain, parts, wires }: Wiring, { down }: Scenario): Set<string> {
  const off = ({ address, state }: Part) => state === "down" || state === "maintenance" || down.includes(address);
  const isTaken = (part: Part) =>
    down.includes(domain) ||
    down.includes(`${domain}/s${part.server}`) ||
    down.some((address) => address.startsWith(`${part.address}/nc`));
  const gone = new Set(parts.filter((part) => off(part) || isTaken(part)).map((part) => part.address));
  const cut = wires.filter(
    ({ address, a, b, now }) => now === 0 || down.includes(address) || gone.has(a) || gone.has(b),
  );
  return new Set([...gone, ...cut.map((wire) => wire.address)]);
}

/** Why a link carries nothing: s1/c5 is down. */
export function idleReasons({ domain, parts, wires }: Wiring, gone: Set<string>): Map<string, string> {
  const own = new Map(parts.map((part) => [part.address, part.state]));
  const describe = (what: string, state = "up") =>
    `${what} is ${state === "down" || state === "maintenance" ? stateWord(state) : "down in this scenario"}`;
  const reasons = new Map<string, string>();
  for (const { address, a, b, state } of wires) {
    if (!gone.has(address)) continue;
    const ends = [a, b].filter((end) => gone.has(end));
    const why = ends.length
      ? ends.map((end) => describe(relativeTo(domain, end), own.get(end)))
      : [describe("it", state)];
    reasons.set(address, why.join(", "));
  }
  return reasons;
}
