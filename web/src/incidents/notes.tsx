// Notes on an incident: who wrote what and when, and a form for the next one.
import { useRef, useState } from "preact/hooks";
import { type ApiError, useQuery } from "../api";
import { useCanWrite, useViewer } from "../change/proposal";
import { Loading, Reason } from "../parts";
import { formatDateTime } from "../state";
import { pluralize } from "../words";
import { notesQuery, writeNote } from "./documents";

const MOST = 1000;
/** Where the dialogs of changes keep the user's name. */
const WHO = "trninv who";

export function Notes({ incident }: { incident: string }) {
  const notes = useQuery(notesQuery(incident));
  const may = useCanWrite();
  return (
    <section class="inner notes" aria-label="Notes">
      <h3>Notes</h3>
      <Loading result={notes}>
        {({ incidentNotes: { nodes, totalCount } }) => (
          <>
            {totalCount > nodes.length && <p class="quiet">{pluralize(totalCount - nodes.length, "earlier note")}</p>}
            {nodes.map(({ writtenAt, who, text }) => (
              <p key={`${writtenAt} ${who}`}>
                <strong>{who}</strong>{" "}
                <time class="quiet" dateTime={writtenAt}>
                  {formatDateTime(writtenAt).slice(0, 16)} UTC
                </time>{" "}
                <Reason text={text} />
              </p>
            ))}
            {!nodes.length && <p class="quiet">No notes yet.</p>}
          </>
        )}
      </Loading>
      {may && <NoteForm incident={incident} again={() => notes.again?.()} />}
    </section>
  );
}

function NoteForm({ incident, again }: { incident: string; again: () => void }) {
  const form = useRef<HTMLFormElement>(null);
  const viewer = useViewer();
  const [busy, setBusy] = useState(false);
  const [failed, fail] = useState<ApiError>();
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const text = String(data.get("note")).replace(/\s+/g, " ").trim();
    const who = viewer?.name ? null : String(data.get("who")).trim();
    if (who !== null) localStorage.setItem(WHO, who);
    setBusy(true);
    fail(undefined);
    try {
      await writeNote(incident, text, who);
      form.current?.reset();
      again();
    } catch (error) {
      fail(error as ApiError);
    }
    setBusy(false);
  };
  return (
    <form ref={form} onSubmit={send}>
      <textarea
        name="note"
        aria-label="Note"
        placeholder="Add a note. It keeps your name and the time."
        required
        maxLength={MOST}
        rows={2}
      />
      {failed && (
        <p class="failure" role="alert">
          {failed.message}
        </p>
      )}
      <div class="row">
        {viewer?.name ? (
          <span class="quiet">Recorded as {viewer.name}</span>
        ) : (
          <input
            name="who"
            aria-label="Your name"
            placeholder="Your name"
            required
            maxLength={MOST}
            pattern=".*\S.*"
            autocomplete="username"
            defaultValue={localStorage.getItem(WHO) ?? ""}
          />
        )}
        <button type="submit" data-writes disabled={busy || !viewer}>
          Add note
        </button>
      </div>
    </form>
  );
}
