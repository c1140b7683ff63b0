// How jobs are affected by unhealthy parts. Which jobs are is the rule of incidents: those with chips of theirs in an open
// incident, or at its links, switches and NICs.

import { addressOf, domainOf, type Overview, STATES } from "../fleet/overview";
import { addressOfCause, type Cause, chipsAt, chipsIn, stateOf } from "../fleet/spots";
import { nounOf, type State, stateWord } from "../state";
import { number } from "../words";
import type { ClusterChips } from "./allocated";

export interface Effect {
  state: State;
  /** In words: 1 failed, link. */
  words: string;
}

interface Job {
  name: string;
  failedChips: number;
}

/** Return the effect on each affected one of these jobs, by its name as `trninv release` takes it. */
export function effectsOn(jobs: Job[], causes: Cause[], clusters: ClusterChips[]): Map<string, Effect> {
  const degraded = degradedChips(clusters);
  const effects = new Map<string, Effect>();
  for (const { name, failedChips } of jobs) {
    const own = causes.filter((cause) => cause.jobs.includes(name));
    const kinds = new Set(
      own.filter((cause) => !chipsIn(cause)).flatMap(({ parts }) => parts.map(({ kind }) => nounOf(kind))),
    );
    const words = [
      failedChips > 0 && `${number(failedChips)} failed`,
      degraded.has(name) && `${number(degraded.get(name) ?? 0)} degraded`,
      ...kinds,
    ].filter(Boolean);
    if (words.length || own.length)
      effects.set(name, { state: failedChips ? "down" : "degraded", words: words.join(", ") || "some" });
  }
  return effects;
}

function degradedChips(clusters: ClusterChips[]): Map<string, number> {
  const counts = new Map<string, number>();
  const degraded = STATES.indexOf("degraded");
  for (const { overview, allocations } of clusters)
    overview.states.forEach((code, chip) => {
      const job = code === degraded && allocations.jobs[(allocations.jobNumbers[chip] ?? 0) - 1];
      if (job) counts.set(job.name, (counts.get(job.name) ?? 0) + 1);
    });
  return counts;
}

/** Unhealthy links, switches and NICs by the servers at their ends, or by the domain that they are in. */
export function linkMarks(overview: Overview, causes: Cause[]): Map<string, Effect> {
  const marks = new Map<string, Effect>();
  for (const cause of causes) {
    if (chipsIn(cause)) continue;
    const state = stateOf(cause);
    const words = cause.parts.map(({ kind, state: own }) => `${nounOf(kind)} ${stateWord(own)}`).join(", ");
    for (const end of (cause.causes.length ? cause.causes : [addressOfCause(cause)]).flatMap((each) =>
      each.split("--"),
    )) {
      const place = chipsAt(overview, end);
      if (!place) continue;
      const server = addressOf(overview, place.first).replace(/\/c\d+$/, "");
      marks.set(/\/s\d+/.test(end) ? server : domainOf(server), { state, words });
    }
  }
  return marks;
}
