// The legend of the map's colors, with counts; an entry fades everything else.
import { LetterBadge } from "../drawing/letter";
import { change } from "../route";
import { Glyph, stateWord } from "../state";
import { number, pluralize } from "../words";
import type { ChipColors, Entry } from "./color";
import { isUnhealthy } from "./spots";

export function Legend({ colored, only }: { colored: ChipColors; only: Set<string> }) {
  const toggle = (key: string) => {
    const next = new Set(only);
    if (!next.delete(key)) next.add(key);
    change({ only: [...next].join(",") || undefined });
  };
  const twice = colored.entries.reduce((sum, { count }) => sum + count, 0) - colored.codes.length;
  return (
    <ul class="keys">
      {colored.entries
        .filter(({ key, count }) => count || only.has(key))
        .map((entry) => (
          <li key={entry.key}>
            <button type="button" aria-pressed={only.has(entry.key)} onClick={() => toggle(entry.key)}>
              <Sign entry={entry} /> <b>{number(entry.count)}</b> {stateWord(entry.label)}
            </button>
          </li>
        ))}
      {twice > 0 && (
        <li class="quiet">
          {pluralize(twice, "unhealthy chip")} also {twice === 1 ? "counts" : "count"} by use
        </li>
      )}
    </ul>
  );
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
