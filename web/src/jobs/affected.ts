// How incidents affect jobs: those with chips of theirs in an open incident, or at its links, switches and NICs, are hit.

import { addressOf, domainOf, type Overview, STATES } from "../fleet/overview";
import { addressOfCause, type Cause, chipsAt, chipsIn, sortCauses, stateOf } from "../fleet/spots";
import { tally } from "../health";
import { type Count, nounOf, type State, stateWord, STATES as WORST_FIRST } from "../state";
import { number, pluralize, shortenAddress } from "../words";
import type { ClusterChips } from "./allocated";

export interface Effect {
  state: State;
  /** In words: 1 chip down: a/d3/s1/c5, 1 link degraded: a/d12/s0/c0 – s1/c0. */
  words: string;
  /** The worst incident behind it. */
  incident?: string | undefined;
}

/** An unhealthy link, switch or NIC; a link between two servers has their numbers, as it is drawn between them. */
export interface Mark extends Effect {
  between?: [number, number];
}

interface Job {
  name: string;
  failedChips: number;
}

/** Return the effect on each of these jobs that an incident hits, by its name as `trninv release` takes it. */
export function effectsOn(jobs: Job[], causes: Cause[], clusters: ClusterChips[]): Map<string, Effect> {
  const unhealthy = unhealthyChips(clusters);
  const effects = new Map<string, Effect>();
  for (const { name, failedChips } of jobs) {
    const own = causes.filter((cause) => cause.jobs.includes(name));
    // chips of clusters that are not drawn have no state here
    const chips = unhealthy.get(name) ?? (failedChips ? [{ kind: "chip", state: "down", count: failedChips }] : []);
    const others = own.filter((cause) => !chipsIn(cause));
    const [other] = others;
    const counts: NamedCount[] = [
      ...chips,
      ...tally(others.flatMap(({ parts }) => parts)).map((count) => ({
        ...count,
        first: others.length === 1 && other ? addressOfCause(other) : undefined,
      })),
    ];
    const state = WORST_FIRST.find((each) => counts.some((count) => count.state === each)) ?? "degraded";
    const [worst] = sortCauses(own);
    // an incident may also be of chips that the job does not have
    const words =
      counts.map(describeCount).join(", ") || (worst && `incident at ${shortenAddress(addressOfCause(worst))}`);
    if (words) effects.set(name, { state, words, incident: worst?.id });
  }
  return effects;
}

/** Unhealthy parts of one kind and state, and the address of the first of them. */
interface NamedCount extends Count {
  first?: string | undefined;
}

/** Say how many parts are unhealthy, and which: 2 chips down: a/d3/s1/c5 and 1 more. */
function describeCount({ kind, state, count, first }: NamedCount): string {
  const words = `${pluralize(count, nounOf(kind))} ${stateWord(state)}`;
  if (!first) return words;
  return `${words}: ${shortenAddress(first)}${count > 1 ? ` and ${number(count - 1)} more` : ""}`;
}

/** Chips of jobs that are not up, by state. */
function unhealthyChips(clusters: ClusterChips[]): Map<string, NamedCount[]> {
  const counts = new Map<string, NamedCount[]>();
  for (const { overview, allocations } of clusters)
    overview.states.forEach((code, chip) => {
      const job = code && allocations.jobs[(allocations.jobNumbers[chip] ?? 0) - 1];
      if (!job) return;
      const state = STATES[code] as State;
      const own = counts.get(job.name) ?? [];
      const known = own.find((count) => count.state === state);
      if (known) known.count++;
      else counts.set(job.name, [...own, { kind: "chip", state, count: 1, first: addressOf(overview, chip) }]);
    });
  return counts;
}

/** Unhealthy links, switches and NICs by the servers at their ends, or by the domain that they are in. */
export function linkMarks(overview: Overview, causes: Cause[]): Map<string, Mark> {
  const marks = new Map<string, Mark>();
  for (const cause of causes) {
    if (chipsIn(cause)) continue;
    const state = stateOf(cause);
    const words = cause.parts
      .map(({ kind, state: own, count }) => `${pluralize(count, nounOf(kind))} ${stateWord(own)}`)
      .join(", ");
    for (const address of cause.causes.length ? cause.causes : [addressOfCause(cause)]) {
      const ends = new Set(address.split("--").flatMap((end) => placeIn(overview, end) ?? []));
      const [a, b] = [...ends].map((end) => Number(/\/s(\d+)$/.exec(end)?.[1]));
      const [domain, ...others] = new Set([...ends].map(domainOf));
      if (domain && !others.length && a !== undefined && b !== undefined)
        marks.set(domain, { state, words, between: [a, b] });
      else for (const end of ends) marks.set(end, { state, words });
    }
  }
  return marks;
}

/** The server of an end of a link, or the domain of a part outside servers. */
function placeIn(overview: Overview, end: string): string | undefined {
  const place = chipsAt(overview, end);
  if (!place) return undefined;
  const server = addressOf(overview, place.first).replace(/\/c\d+$/, "");
  return /\/s\d+/.test(end) ? server : domainOf(server);
}
