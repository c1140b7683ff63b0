// What was set, and the way back.
import { ask, asking } from "../api";
import { written } from "../live";
import type { State } from "../state";
import { type Made, SET } from "./documents";
import { tell } from "./said";
import { restoring } from "./things";

export interface Done {
  message: string;
  why: string;
  who: string | null;
  changes: Made[];
}

/** The newest event of what was changed. */
export const newest = (changes: Made[]) =>
  Math.max(0, ...changes.map(({ target }) => ("lastChange" in target ? (target.lastChange?.event ?? 0) : 0)));

/** Say that something was set; what was said before goes. */
export const say = (done: Done) =>
  tell({ message: done.message, undo: done.changes.length ? () => undone(done) : undefined });

/** Set all to what it was, unless somebody has changed it since. */
async function undone({ changes, why, who }: Done): Promise<void> {
  const unchangedSince = newest(changes);
  for (const group of restoring(changes)) {
    const input = {
      addresses: group.map(({ address }) => address),
      state: group[0]?.before.toUpperCase() as State,
      factor: group[0]?.factorBefore ?? null,
      why: `undone: ${why}`.slice(0, 1000),
      who,
      unchangedSince,
    };
    const { setState } = await ask({ ...asking(SET, { input }), at: "" });
    written(newest(setState.changes));
  }
}
