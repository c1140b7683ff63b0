// Placements for the next job: the request, the candidates by rank, why there are none, and which jobs to move.
import { useEffect, useRef, useState } from "preact/hooks";
import { makeQuery, useQuery } from "../api";
import { useCanWrite } from "../change/proposal";
import { Loading } from "../parts";
import { change } from "../route";
import { gigabytes, number, pluralize, relativeTo } from "../words";
import { propose, toAllocate } from "./actions";
import {
  amounts,
  bytes,
  type JobSize,
  KINDS,
  type Kind,
  PLACEMENTS,
  type Placement,
  type PlacementsAnswer,
  parseSize,
} from "./documents";
import { MakeRoom } from "./plans";

/** Whether the two halves of a placement are connected; a single chip counts as connected. */
const isConnected = ({ chips, bisection }: Placement) => chips < 2 || bisection.gigabytesPerSecond > 0;

/** In the service's order, with unconnected placements last. */
const rank = (all: Placement[]) => [...all.filter(isConnected), ...all.filter((placement) => !isConnected(placement))];

const warning = (placement: Placement) =>
  isConnected(placement)
    ? placement.degraded
      ? "One of its chips or links is degraded."
      : undefined
    : "These chips are not connected to each other.";

/** Arrow keys move the focus between placements; the focused one is outlined. */
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
  /** The places of the selected placement. */
  show: (places: string[]) => void;
}

export function Placements({ scope, options, show }: Props) {
  const want = parseSize(options.fit);
  const query =
    want && makeQuery(PLACEMENTS, { scope, ...amounts(want), memory: bytes(want), anyBlock: options.any === "yes" });
  const fits = useQuery(query);
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
        <Loading result={fits}>
          {({ placements: answer }) => (
            <>
              <PlacementList fits={answer} scope={scope} show={show} />
              {!answer.placements.length && want.kind !== "memory" && <MakeRoom scope={scope} want={want} />}
            </>
          )}
        </Loading>
      )}
    </section>
  );
}

function Form({ want, any }: { want: JobSize | null; any: boolean }) {
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

function PlacementList({
  fits,
  scope,
  show,
}: {
  fits: PlacementsAnswer;
  scope: string;
  show: (places: string[]) => void;
}) {
  const places = rank(fits.placements);
  const may = useCanWrite();
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
                <td class="number">{pluralize(domains, "domain")}</td>
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
              <span class="rank">{isConnected(placement) ? index + 1 : "–"}</span>
              <span>
                <strong>{shortPlaces(scope, placement.places)}</strong>
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
              <span>{isConnected(placement) ? gigabytes(placement.bisection) : "not connected"}</span>
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
            Allocate {pluralize(fits.chips, "chip")}…
          </button>
        )}
        <span class="quiet">
          {fits.request} of {pluralize(fits.free, "free chip")}. {pluralize(fits.positions, "candidate")}, ranked by
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

/** Group chips by server: s0 · c0, c1. */
export function shortPlaces(scope: string, places: string[]): string {
  const servers = new Map<string, string[]>();
  for (const place of places.map((address) => relativeTo(scope, address))) {
    const [, server = place, chip] = /^(.*?)\/?(c\d+)$/.exec(place) ?? [];
    servers.set(server, [...(servers.get(server) ?? []), ...(chip ? [chip] : [])]);
  }
  return [...servers].map(([server, chips]) => [server, chipRanges(chips)].filter(Boolean).join(" · ")).join(" + ");
}

/** Shorten c0, c1, c2, c3, c6 to c0–c3, c6. */
function chipRanges(chips: string[]): string {
  const numbers = chips.map((chip) => Number(chip.slice(1))).sort((a, b) => a - b);
  const ranges: [number, number][] = [];
  for (const chip of numbers) {
    const last = ranges.at(-1);
    if (last && chip === last[1] + 1) last[1] = chip;
    else ranges.push([chip, chip]);
  }
  return ranges.map(([first, last]) => (first === last ? `c${first}` : `c${first}–c${last}`)).join(", ");
}
