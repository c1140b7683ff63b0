// Where the next job fits: what is asked, the places by rank, why there is none, and whom to move.
import { useEffect, useRef, useState } from "preact/hooks";
import { asking, useAsked } from "../api";
import { mayChange } from "../change/asked";
import { Shown } from "../parts";
import { change } from "../route";
import { below, counted, gigabytes, number } from "../words";
import { amounts, bytes, FITS, type Fits, KINDS, type Kind, type Placement, type Want, wanted } from "./documents";
import { propose, toAllocate } from "./doing";
import { MakeRoom } from "./plans";

/** Whether anything flows between its halves; one chip has none. */
const joined = ({ chips, bisection }: Placement) => chips < 2 || bisection.gigabytesPerSecond > 0;

/** As the service ranks them, and what is not connected last. */
const ranked = (all: Placement[]) => [...all.filter(joined), ...all.filter((placement) => !joined(placement))];

const warning = (placement: Placement) =>
  joined(placement)
    ? placement.degraded
      ? "One of its chips or links is degraded."
      : undefined
    : "These chips are not connected to each other.";

/** Arrows go from place to place; each that has the focus is ringed. */
function step(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>("button")];
  const next = all.indexOf(document.activeElement as HTMLElement) + by;
  all[Math.max(0, Math.min(all.length - 1, next))]?.focus();
}

interface Props {
  scope: string;
  options: Record<string, string>;
  /** The places of the fit that is looked at. */
  show: (places: string[]) => void;
}

export function WhereFits({ scope, options, show }: Props) {
  const want = wanted(options.fit);
  const query = want && asking(FITS, { scope, ...amounts(want), memory: bytes(want), anyBlock: options.any === "yes" });
  const fits = useAsked(query);
  return (
    <section class="card flush" aria-labelledby="fits">
      <h2 id="fits">Find a placement</h2>
      <Form want={want} any={options.any === "yes"} />
      {options.fit && !want && (
        <p class="inner failure">
          {options.fit.slice(0, 60)} is not a valid size. Use chips:8, memory:768GiB or shape:2x4x1.
        </p>
      )}
      {want && (
        <Shown result={fits}>
          {({ placements: answer }) => (
            <>
              <Found fits={answer} scope={scope} show={show} />
              {!answer.placements.length && want.kind !== "memory" && <MakeRoom scope={scope} want={want} />}
            </>
          )}
        </Shown>
      )}
    </section>
  );
}

function Form({ want, any }: { want: Want | null; any: boolean }) {
  const form = useRef<HTMLFormElement>(null);
  const find = (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(form.current as HTMLFormElement);
    const [kind, text] = [String(data.get("kind")) as Kind, String(data.get("size")).trim().replaceAll("×", "x")];
    change({ fit: `${kind}:${text}${kind === "memory" ? "GiB" : ""}`, any: data.get("any") ? "yes" : undefined });
  };
  return (
    <form ref={form} class="inner fit" onSubmit={find} key={`${want?.kind} ${want?.text}`}>
      <label>
        <span class="unseen">Unit</span>
        <select name="kind" defaultValue={want?.kind ?? "chips"}>
          {Object.entries(KINDS).map(([kind, name]) => (
            <option key={kind} value={kind} selected={kind === (want?.kind ?? "chips")}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="unseen">Amount</span>
        <input
          name="size"
          defaultValue={want?.text ?? "8"}
          required
          pattern="[0-9x×]+"
          title="A number such as 8, or a shape such as 2x4x1"
        />
      </label>
      <button type="submit" class="main">
        Find
      </button>
      <label class="toggle">
        <input type="checkbox" name="any" defaultChecked={any} /> any block, including shapes that schedulers do not
        offer
      </label>
    </form>
  );
}

function Found({ fits, scope, show }: { fits: Fits; scope: string; show: (places: string[]) => void }) {
  const places = ranked(fits.placements);
  const may = mayChange();
  const [index, look] = useState(0);
  const picked = places[Math.min(index, places.length - 1)];
  useEffect(() => show(picked?.places ?? []), [picked]);
  useEffect(() => () => show([]), []);
  if (!picked)
    return (
      <div class="inner">
        <p>
          <strong>No placement:</strong> {fits.reason}.
        </p>
        {fits.suggestedShape && <p>{fits.suggestedShape}</p>}
        <table>
          <tbody>
            {fits.filterSteps.map(({ condition, domains }) => (
              <tr key={condition}>
                <th scope="row">{condition}</th>
                <td class="number">{counted(domains, "domain")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    );
  const most = Math.max(...places.map(({ bisection }) => bisection.gigabytesPerSecond), 1);
  return (
    <>
      <ol class="fits" onKeyDown={step}>
        {places.map((placement, index) => (
          <li key={placement.places.join(" ")}>
            <button
              type="button"
              class="plain"
              aria-pressed={placement === picked}
              onClick={() => look(index)}
              onFocus={() => look(index)}
              onPointerEnter={() => look(index)}
            >
              <span class="rank">{joined(placement) ? index + 1 : "–"}</span>
              <span>
                <strong>{short(scope, placement.places)}</strong>
                <span class="quiet">
                  {[
                    placement.shape?.replaceAll("x", " × "),
                    `all-gather ${gigabytes(placement.allGather)}`,
                    `leaves ${number(placement.remainingFree)} free`,
                    placement.degraded && "degraded",
                  ]
                    .filter(Boolean)
                    .join(", ")}
                </span>
              </span>
              <span>{joined(placement) ? gigabytes(placement.bisection) : "not connected"}</span>
              <span class="track" aria-hidden="true">
                <span style={{ width: `${(100 * placement.bisection.gigabytesPerSecond) / most}%` }} />
              </span>
            </button>
          </li>
        ))}
      </ol>
      <div class="inner fit">
        {may && (
          <button
            type="button"
            class="main"
            data-writes
            aria-haspopup="dialog"
            onClick={() => propose(toAllocate(scope, picked.places, fits.chips, warning(picked)))}
          >
            Allocate {counted(fits.chips, "chip")}…
          </button>
        )}
        <span class="quiet">
          {fits.request} of {counted(fits.free, "free chip")}. {counted(fits.positions, "candidate")}, ranked by
          all-gather, then bisection (shown).
          {!may && (
            <>
              {" "}
              To allocate: <code>trninv allocate NAME {picked.places.join(" ")}</code>
            </>
          )}
        </span>
      </div>
    </>
  );
}

/** Chips of one server together: s0 · c0, c1. */
export function short(scope: string, places: string[]): string {
  const servers = new Map<string, string[]>();
  for (const place of places.map((address) => below(scope, address))) {
    const [, server = place, chip] = /^(.*?)\/?(c\d+)$/.exec(place) ?? [];
    servers.set(server, [...(servers.get(server) ?? []), ...(chip ? [chip] : [])]);
  }
  return [...servers].map(([server, chips]) => [server, runs(chips)].filter(Boolean).join(" · ")).join(" + ");
}

/** c0–c3, c6 of c0, c1, c2, c3, c6. */
function runs(chips: string[]): string {
  const numbers = chips.map((chip) => Number(chip.slice(1))).sort((a, b) => a - b);
  const ranges: [number, number][] = [];
  for (const chip of numbers) {
    const last = ranges.at(-1);
    if (last && chip === last[1] + 1) last[1] = chip;
    else ranges.push([chip, chip]);
  }
  return ranges.map(([first, last]) => (first === last ? `c${first}` : `c${first}–c${last}`)).join(", ");
}
