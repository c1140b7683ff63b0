// What was set, and the way back.
import { makeQuery, runQuery } from "../api";
import { noteOwnChange } from "../live";
import type { State } from "../state";
import { SET_STATE, type StateChange } from "./documents";
import { restoring } from "./targets";
import { showToast } from "./toast";

export interface CompletedChange {
  message: string;
  why: string;
  who: string | null;
  changes: StateChange[];
}

/** The newest event of what was changed. */
export const newestEvent = (changes: StateChange[]) =>
  Math.max(0, ...changes.map(({ target }) => ("lastChange" in target ? (target.lastChange?.event ?? 0) : 0)));

/** Say that something was set; what was said before goes. */
export const showUndoToast = (done: CompletedChange) =>
  showToast({ message: done.message, undo: done.changes.length ? () => undo(done) : undefined });

/** Set all to what it was, unless somebody has changed it since. */
async function undo({ changes, why, who }: CompletedChange): Promise<void> {
  const unchangedSince = newestEvent(changes);
  for (const group of restoring(changes)) {
    const input = {
      addresses: group.map(({ address }) => address),
      state: group[0]?.before.toUpperCase() as State,
      factor: group[0]?.factorBefore ?? null,
      why: `undone: ${why}`.slice(0, 1000),
      who,
      unchangedSince,
    };
    const { setState } = await runQuery({ ...makeQuery(SET_STATE, { input }), at: "" });
    noteOwnChange(newestEvent(setState.changes));
  }
}
