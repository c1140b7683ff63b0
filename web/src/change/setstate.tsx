// The dialog that sets a state: parts, state and reason, a preview, and conflicts with others' changes.
import { useRef, useState } from "preact/hooks";
import { makeQuery, runQuery, useQuery } from "../api";
import { noteOwnChange } from "../live";
import { useRoute } from "../route";
import { formatTime, Glyph, type State, StateLabel, stateWord } from "../state";
import { number, shortenAddress } from "../words";
import { ChangeDialog, type FormInput, openDialog } from "./confirmation";
import { SET_STATE, TARGET_STATES } from "./documents";
import { Preview } from "./preview";
import type { StateProposal } from "./proposal";
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
import { newestEvent, undoToast } from "./undo";

const ORDER: State[] = ["up", "degraded", "down", "maintenance"];
const MOST_WHY = 1000;

export function open(change: StateProposal): void {
  if (change.places.length) openDialog((close) => <SetState change={change} close={close} />);
}

function SetState({ change, close }: { change: StateProposal; close: () => void }) {
  const seen = useRef<SeenStates>(new Map());
  const route = useRoute();
  const [places, setPlaces] = useState(() => [...new Set(change.places)]);
  const [to, setTo] = useState<State>(change.state);
  const [part, setPart] = useState(String(change.factor ?? 0.5));
  const result = useQuery(makeQuery(TARGET_STATES, byKind(places)));
  const things = result.data ? targetsOf(result.data) : [];
  noteStates(seen.current, things);
  const later = changedSince(seen.current, things);
  const chips = chipsOf(things).size;
  const factor = Number(part);
  const isCut = !result.loading && things.length > 0 && things.length < places.length;
  const apply = async ({ why, who }: FormInput) => {
    const input = {
      addresses: things.map(({ address }) => address),
      state: to.toUpperCase() as State,
      factor: to === "degraded" ? factor : null,
      why,
      who,
      unchangedSince: result.data?.events.nodes[0]?.event ?? 0,
    };
    const { setState } = await runQuery({ ...makeQuery(SET_STATE, { input }), at: "" });
    noteOwnChange(newestEvent(setState.changes));
    return undoToast({ message: outcome(things, setState.changes, to), why, who, changes: setState.changes });
  };
  const subject = (
    <>
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
    </>
  );
  return (
    <ChangeDialog
      title="Set state"
      action={actionLabel(things, to)}
      tone={to === "up" ? "" : to}
      asks={["why", "who"]}
      most={MOST_WHY}
      ready={!result.loading && things.length > 0 && !isCut}
      note="Takes effect immediately"
      subject={subject}
      apply={apply}
      describe={({ message }) => (later.length ? null : message)}
      close={close}
    >
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
    </ChangeDialog>
  );
}

/** Describe what was done. */
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

/** Changes by others since the dialog opened: both states. */
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
