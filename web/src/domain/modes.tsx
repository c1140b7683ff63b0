// The controls of the domain view: the question, the two chips, and how the domain is drawn.
import { useRef } from "preact/hooks";
import type { Wiring } from "../drawing/layout";
import { Choice } from "../parts";
import { change, oneOf } from "../route";
import { relativeTo } from "../words";

export const MODES = {
  path: "Path",
  widest: "Widest",
  cut: "Cut",
  bisection: "Bisection",
  pool: "Memory pool",
  jobs: "Jobs",
};
export type Mode = keyof typeof MODES;
const NAMES = Object.keys(MODES) as Mode[];

/** The question of an address; `shortest` is the old name of `path`. */
export const modeOf = (show: string | undefined): Mode => oneOf(MODES, show, "path");

/** The heading that labels the answer. */
export const tabOf = (mode: Mode) => `tab-${mode}`;
export const ANSWER = "answer";

const KEYS: Record<string, (index: number) => number> = {
  ArrowRight: (index) => index + 1,
  ArrowLeft: (index) => index - 1,
  Home: () => 0,
  End: () => -1,
};

export function Modes({ mode, narrow }: { mode: Mode; narrow: boolean }) {
  const list = useRef<HTMLDivElement>(null);
  const type = (event: KeyboardEvent) => {
    const to = KEYS[event.key];
    if (!to || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const next = NAMES.at(to(NAMES.indexOf(mode)) % NAMES.length) as Mode;
    list.current?.querySelector<HTMLElement>(`#${tabOf(next)}`)?.focus();
    change({ show: next });
  };
  if (narrow)
    return (
      <select aria-label="Question" value={mode} onChange={(event) => change({ show: event.currentTarget.value })}>
        {NAMES.map((name) => (
          <option key={name} value={name}>
            {MODES[name]}
          </option>
        ))}
      </select>
    );
  return (
    <div class="seg" role="tablist" aria-label="Question" ref={list} onKeyDown={type}>
      {NAMES.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={tabOf(name)}
          aria-selected={name === mode}
          aria-controls={ANSWER}
          tabIndex={name === mode ? 0 : -1}
          onClick={() => change({ show: name })}
        >
          {MODES[name]}
        </button>
      ))}
    </div>
  );
}

interface EndsProps {
  wiring: Wiring;
  from: string;
  to: string;
  narrow: boolean;
}

export function Ends({ wiring, from, to, narrow }: EndsProps) {
  const short = (address: string) => address && relativeTo(wiring.domain, address);
  const chips = wiring.parts.flatMap((part) => (part.kind === "chip" ? [short(part.address)] : []));
  return (
    <div class="ends">
      <End name="From" value={short(from)} chips={chips} narrow={narrow} choose={(chip) => change({ from: chip })} />
      <button
        type="button"
        class="square plain"
        aria-label="Swap From and To"
        aria-keyshortcuts="X"
        title="Swap (X)"
        disabled={!from && !to}
        onClick={() => change({ from: short(to) || undefined, to: short(from) || undefined })}
      >
        <span aria-hidden="true">⇌</span>
      </button>
      <End name="To" value={short(to)} chips={chips} narrow={narrow} choose={(chip) => change({ to: chip })} />
    </div>
  );
}

interface EndProps {
  name: string;
  value: string;
  chips: string[];
  /** Whether there is no room for the name beside the chip. */
  narrow: boolean;
  choose: (chip: string | undefined) => void;
}

function End({ name, value, chips, narrow, choose }: EndProps) {
  return (
    <label class={`end ${name.toLowerCase()}${value ? " chosen" : ""}`}>
      {!narrow && <span>{name}</span>}
      <select aria-label={name} value={value} onChange={(event) => choose(event.currentTarget.value || undefined)}>
        <option value="">{narrow ? name : "choose a chip"}</option>
        {value && !chips.includes(value) && <option value={value}>{value}</option>}
        {chips.map((chip) => (
          <option key={chip} value={chip}>
            {chip}
          </option>
        ))}
      </select>
    </label>
  );
}

export function FlatOrSolid({ solid }: { solid: boolean }) {
  return (
    <div class="seg">
      <Choice
        name="View"
        options={{ "2d": "Flat", "3d": "3D" }}
        chosen={solid ? "3d" : "2d"}
        choose={(view) => change({ view: view === "3d" ? view : undefined, yaw: undefined, pitch: undefined })}
      />
    </div>
  );
}

interface MoreProps {
  breaking: boolean;
  setBreaking: (on: boolean) => void;
}

/** Controls that are needed less often. */
export function More({ breaking, setBreaking }: MoreProps) {
  const box = useRef<HTMLDetailsElement>(null);
  const type = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !box.current?.open) return;
    event.stopPropagation();
    box.current.open = false;
    box.current.querySelector("summary")?.focus();
  };
  return (
    <details class="more" ref={box} onKeyDown={type}>
      <summary aria-label="More" title="More">
        <span aria-hidden="true">…</span>
      </summary>
      <div class="card">
        <label class="toggle">
          <input type="checkbox" checked={breaking} onChange={() => setBreaking(!breaking)} />
          <span>Click to take down</span>
        </label>
        <p class="quiet">
          Click two chips to see how they are connected. Shift-click a chip, link or switch to see what happens when it
          is down.
        </p>
        <p class="quiet">
          <kbd>F</kbd> and <kbd>T</kbd> set the selected chip as From or To, <kbd>X</kbd> swaps them, <kbd>D</kbd> takes
          the selection down, <kbd>Esc</kbd> goes back.
        </p>
      </div>
    </details>
  );
}
