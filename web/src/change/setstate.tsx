// The dialog that sets a state: what, to which, why; what that would change; whose change it would overwrite.
import { render } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type ApiError, makeQuery, runQuery, useQuery } from "../api";
import { noteOwnChange, refresh } from "../live";
import { useRoute } from "../route";
import "../style/change.css";
import { formatTime, Glyph, type State, StateLabel, stateWord } from "../state";
import { number, shortenAddress } from "../words";
import { SET_STATE, TARGET_STATES } from "./documents";
import { NameField, readName } from "./name";
import { Preview } from "./preview";
import { type StateProposal, useViewer } from "./proposal";
import {
  actionLabel,
  byKind,
  changedSince,
  chipsOf,
  describeTargets,
  FEW,
  noteStates,
  type SeenStates,
  type Target,
  targetsOf,
} from "./targets";
import { toastHost } from "./toast";
import { newestEvent, showUndoToast } from "./undo";

const ORDER: State[] = ["up", "degraded", "down", "maintenance"];
const MOST_WHY = 1000;

/** Open the dialog over the page; what had the focus has it again afterwards. */
export function open(change: StateProposal): void {
  if (!change.places.length || document.querySelector("dialog.change")) return;
  toastHost();
  const host = document.body.appendChild(document.createElement("div"));
  const close = () => {
    render(null, host);
    host.remove();
  };
  render(<Dialog change={change} close={close} />, host);
}

function Dialog({ change, close }: { change: StateProposal; close: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  const seen = useRef<SeenStates>(new Map());
  const route = useRoute();
  const viewer = useViewer();
  const [places, setPlaces] = useState(() => [...new Set(change.places)]);
  const [to, setTo] = useState<State>(change.state);
  const [part, setPart] = useState(String(change.factor ?? 0.5));
  const [failed, fail] = useState("");
  const [busy, setBusy] = useState(false);
  const result = useQuery(makeQuery(TARGET_STATES, byKind(places)));
  const things = result.data ? targetsOf(result.data) : [];
  noteStates(seen.current, things);
  const later = changedSince(seen.current, things);
  const chips = chipsOf(things).size;
  const factor = Number(part);
  const isCut = !result.loading && things.length > 0 && things.length < places.length;
  useLayoutEffect(() => {
    box.current?.showModal();
    box.current?.querySelector<HTMLElement>("[name=why]")?.focus();
  }, []);
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement);
    const why = String(form.get("why"));
    const who = readName(form, viewer);
    setBusy(true);
    fail("");
    const input = {
      addresses: things.map(({ address }) => address),
      state: to.toUpperCase() as State,
      factor: to === "degraded" ? factor : null,
      why,
      who,
      unchangedSince: result.data?.events.nodes[0]?.event ?? 0,
    };
    try {
      const { setState } = await runQuery({ ...makeQuery(SET_STATE, { input }), at: "" });
      box.current?.close();
      noteOwnChange(newestEvent(setState.changes));
      showUndoToast({ message: outcome(things, setState.changes, to), why, who, changes: setState.changes });
    } catch (error) {
      const { code, message } = error as ApiError;
      fail(message);
      if (code === "CONFLICT") refresh();
      setBusy(false);
    }
  };
  return (
    <dialog class="change" ref={box} aria-labelledby="change" onClose={close}>
      <form onSubmit={send}>
        <header>
          <h2 id="change">Set state</h2>
          <button type="button" class="square" aria-label="Close" onClick={() => box.current?.close()}>
            <span aria-hidden="true">×</span>
          </button>
        </header>
        <div class="body">
          <TargetList
            things={result.error || !result.data ? places.map((address) => ({ address })) : things}
            places={places}
            set={setPlaces}
          />
          {isCut && (
            <p class="failure" role="alert">
              Only {number(things.length)} of {number(places.length)} parts were loaded. Set fewer at once.
            </p>
          )}
          {result.error && (
            <p class="failure" role="alert">
              {result.error.message}
            </p>
          )}
          <fieldset class="to">
            <legend>New state</legend>
            {ORDER.map((state) => (
              <label key={state} class={state}>
                <input type="radio" name="to" value={state} checked={state === to} onChange={() => setTo(state)} />
                <StateLabel state={state}>{state}</StateLabel>
              </label>
            ))}
          </fieldset>
          {to === "degraded" && (
            <label>
              Remaining capacity, between 0 and 1
              <input
                type="number"
                name="factor"
                required
                min="0.000001"
                max="0.999999"
                step="any"
                value={part}
                onInput={(event) => setPart(event.currentTarget.value)}
              />
            </label>
          )}
          <label>
            Reason, kept with the change
            <input name="why" required maxLength={MOST_WHY} pattern=".*\S.*" title="A reason" autocomplete="off" />
          </label>
          <NameField viewer={viewer} most={MOST_WHY} />
          {things.length > 0 && (to !== "degraded" || (factor > 0 && factor < 1)) && (
            <Preview things={things} to={to} factor={factor} route={route} />
          )}
          {chips > FEW && (
            <label>
              This affects {number(chips)} chips. Type the number to confirm
              <input
                name="count"
                required
                inputMode="numeric"
                autocomplete="off"
                pattern={String(chips)}
                title={String(chips)}
              />
            </label>
          )}
          {later.length > 0 && <Conflict things={later} seen={seen.current} />}
          {failed && !later.length && (
            <p class="failure" role="alert">
              {failed}
            </p>
          )}
        </div>
        <footer>
          <span class="quiet">{viewer?.name ? `As ${viewer.name} · takes` : "Takes"} effect immediately</span>
          <button type="button" onClick={() => box.current?.close()}>
            Cancel
          </button>
          <button
            type="submit"
            data-writes
            class={to === "up" ? "main" : `main ${to}`}
            disabled={busy || !viewer || result.loading || !things.length || isCut}
          >
            {actionLabel(things, to)}
          </button>
        </footer>
      </form>
    </dialog>
  );
}

/** What was done, in words. */
function outcome(things: Target[], changes: { after: string; target: object }[], to: State): string {
  if (!changes.length) return `No change: ${describeTargets(things)} already ${stateWord(to)}`;
  const kept = changes.filter(({ after, target }) => "state" in target && target.state !== after).length;
  const stays = kept ? `; ${number(kept)} will be ${stateWord(to)} once the server is` : "";
  return `${describeTargets(things)} set to ${to}${stays}`;
}

interface TargetListProps {
  things: { address: string; state?: State }[];
  places: string[];
  set: (places: string[]) => void;
}

function TargetList({ things, places, set }: TargetListProps) {
  const [adding, setAdding] = useState(false);
  const add = (input: HTMLInputElement) => {
    const address = input.value.trim().toLowerCase();
    if (address) set([...new Set([...places, address])]);
    setAdding(false);
  };
  return (
    <div class="what">
      <h3>Parts</h3>
      <ul>
        {things.slice(0, 8).map(({ address, state }) => (
          <li key={address}>
            <strong>{shortenAddress(address)}</strong> {state && <StateLabel state={state} />}
            {places.length > 1 && (
              <button
                type="button"
                class="plain"
                aria-label={`Remove ${address}`}
                onClick={() => set(places.filter((place) => place !== address))}
              >
                ×
              </button>
            )}
          </li>
        ))}
        {things.length > 8 && <li class="quiet">and {number(things.length - 8)} more</li>}
        <li>
          {adding ? (
            <input
              aria-label="Another address"
              ref={(input) => input?.focus()}
              spellcheck={false}
              autocomplete="off"
              onKeyDown={(event) => {
                if (event.key !== "Enter" && event.key !== "Escape") return;
                event.preventDefault(); // of the dialog's own: to send, to close
                if (event.key === "Escape") event.currentTarget.value = "";
                add(event.currentTarget);
              }}
              onBlur={(event) => add(event.currentTarget)}
            />
          ) : (
            <button type="button" class="plain" onClick={() => setAdding(true)}>
              + Add
            </button>
          )}
        </li>
      </ul>
    </div>
  );
}

/** Changes that were made while the dialog was open: both states. */
function Conflict({ things, seen }: { things: Target[]; seen: SeenStates }) {
  return (
    <div class="conflict" role="alert">
      <strong>Changed since you opened this dialog</strong>
      <ul class="plain">
        {things.map(({ address, state, lastChange }) => (
          <li key={address}>
            <Glyph state={state} /> {shortenAddress(address)} was {seen.get(address)?.state}, now {stateWord(state)}
            {lastChange && `, ${formatTime(lastChange.at)} UTC, ${lastChange.who}: ${lastChange.why}`}
          </li>
        ))}
      </ul>
      <label key={things.map(({ lastChange }) => lastChange?.event).join()}>
        <input type="checkbox" required /> Set anyway
      </label>
    </div>
  );
}
