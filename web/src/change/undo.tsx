// Undo a change of states.
import { makeQuery, runQuery } from "../api";
import { noteOwnChange } from "../live";
import type { State } from "../state";
import { SET_STATE, type StateChange } from "./documents";
import { restoring } from "./targets";
import type { ToastContent } from "./toast";

export interface CompletedChange {
  message: string;
  why: string;
  who: string | null;
  changes: StateChange[];
}

/** The newest event of the change. */
export const newestEvent = (changes: StateChange[]) =>
  Math.max(0, ...changes.map(({ target }) => ("lastChange" in target ? (target.lastChange?.event ?? 0) : 0)));

/** The toast that confirms a change, with *Undo*. */
export const undoToast = (done: CompletedChange): ToastContent => ({
  message: done.message,
  undo: done.changes.length ? () => undo(done) : undefined,
});

/** Restore the earlier states, unless somebody has changed a part since. */
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
