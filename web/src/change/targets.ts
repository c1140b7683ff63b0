// The parts to set: kinds and counts, changes by others, and the scenario that previews them.
import type { State } from "../state";
import { pluralize } from "../words";
import type { TargetStates } from "./documents";

/** Maximum number of chips that can be set without typing their number. */
export const FEW = 16;

export type Target = TargetStates[
  | "servers"
  | "chips"
  | "switches"
  | "nics"
  | "networkNodes"
  | "links"]["nodes"][number];

/** Group addresses by kind, for the API's lists. */
export function byKind(places: string[]) {
  const like = (form: RegExp) => places.filter((place) => !place.includes("--") && form.test(place));
  const [servers, chips, switches, nics] = [/\/s\d+$/, /\/c\d+$/, /\/sw\d+$/, /\/efa\d+$/].map(like);
  const links = places.filter((place) => place.includes("--"));
  const matched = new Set([servers, chips, switches, nics, links].flat());
  const nodes = places.filter((place) => !matched.has(place));
  return { servers, chips, switches, nics, nodes, links } as Record<Group, string[]>;
}

type Group = "servers" | "chips" | "switches" | "nics" | "nodes" | "links";

/** Parts in the order of the lists. */
export const targetsOf = (data: TargetStates): Target[] => [
  ...data.servers.nodes,
  ...data.chips.nodes,
  ...data.switches.nodes,
  ...data.nics.nodes,
  ...data.networkNodes.nodes,
  ...data.links.nodes,
];

const NOUNS: Record<string, string> = { Nic: "NIC", NetworkNode: "network node" };

/** Count parts by kind: 1 server, 2 links. */
export function describeTargets(things: { kind: string }[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of things) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => pluralize(count, NOUNS[kind] ?? kind.toLowerCase())).join(", ");
}

/** The label of the button: Set 1 chip to down. */
export const actionLabel = (things: { kind: string }[], to: State) => `Set ${describeTargets(things)} to ${to}`;

export interface Chip {
  address: string;
  state: string;
  job: string | null;
}

/** The distinct chips that change. */
export function chipsOf(things: Target[]): Map<string, Chip> {
  const chips = things.flatMap((thing): Chip[] =>
    "chips" in thing ? thing.chips.nodes : "job" in thing ? [thing] : [],
  );
  return new Map(chips.map((chip) => [chip.address, chip]));
}

const lastEvent = ({ lastChange }: Target) => lastChange?.event ?? 0;

/** The states of parts when they were first loaded. */
export type SeenStates = Map<string, { state: string; event: number }>;

/** Remember the states of parts that are new. */
export function noteStates(seen: SeenStates, things: Target[]): void {
  for (const thing of things) {
    if (!seen.has(thing.address)) seen.set(thing.address, { state: thing.state, event: lastEvent(thing) });
  }
}

/** Parts that somebody has changed since they were loaded. */
export const changedSince = (seen: SeenStates, things: Target[]) =>
  things.filter((thing) => seen.get(thing.address)?.event !== lastEvent(thing));

export interface Scenario {
  down: string[];
  derate: { address: string; factor: number }[];
}

const CARRYING = ["up", "degraded"];

/** The arguments of whatIf; null if a part would carry more than now, which a scenario cannot assume. */
export function scenarioOf(things: Target[], to: State, factor: number): Scenario | null {
  const isOut = !CARRYING.includes(to);
  const parts = things.filter(({ state }) => CARRYING.includes(state));
  if (isOut) return { down: parts.map(({ address }) => address), derate: [] };
  const rest = (thing: Target) => factor / (thing.factor ?? 1);
  const isLess = parts.length === things.length && to === "degraded" && things.every((thing) => rest(thing) <= 1);
  if (!isLess) return null;
  const derate = things.filter((thing) => rest(thing) < 1);
  return { down: [], derate: derate.map((thing) => ({ address: thing.address, factor: rest(thing) })) };
}

/** The changes that restore the earlier states: parts before servers, because a server restores the states of its parts. */
export function restoring<C extends { address: string; before: string; factorBefore: number | null }>(changes: C[]) {
  const groups = new Map<string, C[]>();
  for (const change of changes) {
    const key = `${!/\/s\d+$/.test(change.address) ? 0 : 1} ${change.before} ${change.factorBefore}`;
    groups.set(key, [...(groups.get(key) ?? []), change]);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}
