// What was set, for six seconds, and the way back.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type ApiError, ask, asking } from "../api";
import { useTurn, written } from "../live";
import type { State } from "../state";
import { type Made, SET } from "./documents";
import { restoring } from "./things";

const STAYS = 6000;

export interface Done {
  says: string;
  why: string;
  who: string | null;
  changes: Made[];
}

/** The newest event of what was changed. */
export const newest = (changes: Made[]) =>
  Math.max(0, ...changes.map(({ thing }) => ("lastChange" in thing ? (thing.lastChange?.event ?? 0) : 0)));

let host: HTMLElement | undefined;

/** The place where it is said, which has to be there before anything is. */
export function place(): HTMLElement {
  if (host) return host;
  host = document.body.appendChild(document.createElement("div"));
  host.className = "toasts made";
  host.setAttribute("role", "status");
  return host;
}

/** Say that something was set; what was said before goes. */
export function say(done: Done): void {
  const at = place();
  render(<Toast key={newest(done.changes)} done={done} close={() => render(null, at)} />, at);
}

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

function Toast({ done, close }: { done: Done; close: () => void }) {
  const { asof } = useTurn();
  const [kept, keep] = useState(false);
  const [said, tell] = useState("");
  useEffect(() => {
    if (kept) return;
    const timer = setTimeout(close, STAYS);
    return () => clearTimeout(timer);
  }, [kept, said]);
  const undo = () => {
    tell("Undoing…");
    keep(true);
    undone(done).then(
      () => {
        tell("Undone: all is as it was");
        keep(false);
      },
      (error: ApiError) => tell(`Not undone: ${error.message}`),
    );
  };
  const isUndoable = done.changes.length > 0 && !said && !asof;
  useEffect(() => {
    if (!isUndoable) return;
    const press = (event: KeyboardEvent) => {
      const types = (event.target as HTMLElement).closest("input, select, textarea, [contenteditable], dialog");
      if (types || event.key !== "z" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      undo();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [isUndoable]);
  return (
    <p
      class="toast"
      onPointerEnter={() => keep(true)}
      onPointerLeave={() => keep(false)}
      onFocusIn={() => keep(true)}
      onFocusOut={() => keep(false)}
    >
      {said || done.says}
      {isUndoable && (
        <button type="button" data-writes aria-keyshortcuts="Control+Z" onClick={undo}>
          Undo <kbd>Ctrl Z</kbd>
        </button>
      )}
      {said.startsWith("Not") && (
        <button type="button" onClick={close}>
          Close
        </button>
      )}
    </p>
  );
}
