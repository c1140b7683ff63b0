// The legend of the map's colors, with counts; an entry fades everything else.
import { useMemo } from "preact/hooks";
import { LetterBadge } from "../drawing/letter";
import { change } from "../route";
import { type Count, Glyph, isState, nounOf, stateWord } from "../state";
import { number, pluralize } from "../words";
import { type AllocationMap, UNAVAILABLE } from "./allocations";
import type { ChipColors, Entry } from "./color";
import { carries, type Overview, STATES } from "./overview";
import { isUnhealthy } from "./spots";

/** Sentences about chips that count twice. */
const MOST = 3;

interface LegendProps {
  overview: Overview;
  colored: ChipColors;
  only: Set<string>;
  /** Unhealthy parts that are not chips, which have markers too. */
  others: Count[];
}

export function Legend({ overview, colored, only, others }: LegendProps) {
  const toggle = (key: string) => {
    const next = new Set(only);
    if (!next.delete(key)) next.add(key);
    change({ only: [...next].join(",") || undefined });
  };
  return (
    <ul class="keys">
      {[...colored.entries]
        .sort(byLetter)
        .filter(({ key, count }) => count || only.has(key))
        .map((entry) => (
          <li key={entry.key}>
            <button type="button" aria-pressed={only.has(entry.key)} onClick={() => toggle(entry.key)}>
              <Sign entry={entry} /> <b>{number(entry.count)}</b>{" "}
              {isState(entry.key) && `${entry.count === 1 ? "chip" : "chips"} `}
              {stateWord(entry.label)}
            </button>
          </li>
        ))}
      {others.map(({ kind, state, count }) => (
        <li key={`${kind} ${state}`} class="other">
          <Glyph state={state} /> <b>{number(count)}</b> {pluralize(count, nounOf(kind)).replace(/^\S+ /, "")}{" "}
          {stateWord(state)}
        </li>
      ))}
      <Twice overview={overview} jobs={colored.jobs} />
    </ul>
  );
}

/** Jobs in the order of their letters: A to Z, then AA. */
function byLetter({ letter: a }: Entry, { letter: b }: Entry): number {
  return a && b ? a.text.length - b.text.length || (a.text < b.text ? -1 : 1) : 0;
}

/** Chips that count twice in the legend. */
function Twice({ overview, jobs }: { overview: Overview; jobs: AllocationMap | undefined }) {
  const words = useMemo(() => (jobs ? describeTwice(overview, jobs) : []), [overview, jobs]);
  return words.length ? <li class="quiet twice">{words.join("; ")}</li> : null;
}

/** Which unhealthy chips are in a job or without one, and so count twice: 1 of the 17 down is in train-70b-3. */
function describeTwice(overview: Overview, { jobs, jobNumbers, unavailable }: AllocationMap): string[] {
  const counts = new Map<string, number>();
  const all = new Map<string, number>();
  overview.states.forEach((code, chip) => {
    const state = STATES[code];
    if (!code || !state) return;
    all.set(state, (all.get(state) ?? 0) + 1);
    const job = jobs[(jobNumbers[chip] ?? 0) - 1]?.name;
    if (!job && !carries(overview, chip)) return;
    const key = JSON.stringify([state, job ? `in ${job}` : UNAVAILABLE[unavailable[chip] ?? 0] || "free"]);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  });
  const words = [...counts].map(([key, count]) => {
    const [state, use] = JSON.parse(key);
    const sum = all.get(state) ?? 0;
    const part = sum === 1 ? "the one" : `${number(count)} of the ${number(sum)}`;
    return `${part} ${stateWord(state)} ${count === 1 ? "is" : "are"} ${use}`;
  });
  return words.length > MOST ? [...words.slice(0, MOST), `and ${number(words.length - MOST)} more`] : words;
}

function Sign({ entry: { key, token, letter } }: { entry: Entry }) {
  if (letter)
    return (
      <span aria-hidden="true">
        <LetterBadge letter={letter} />
      </span>
    );
  if (isUnhealthy(key) || key === "up") return <Glyph state={key} />;
  return key === "jobs" ? null : <i class={`swatch ${key}`} style={{ "--swatch": `var(--${token})` }} />;
}
