// What the colours mean, with counts; each entry fades all that is not chosen.
import { change } from "../route";
import { Glyph, worded } from "../state";
import { number } from "../words";
import type { Coloured, Entry } from "./colour";
import { isNotUp } from "./spots";

export function Legend({ of, only }: { of: Coloured; only: Set<string> }) {
  const toggle = (key: string) => {
    const next = new Set(only);
    if (!next.delete(key)) next.add(key);
    change({ only: [...next].join(",") || undefined });
  };
  return (
    <ul class="keys">
      {of.entries
        .filter(({ key, count }) => count || only.has(key))
        .map((each) => (
          <li key={each.key}>
            <button type="button" aria-pressed={only.has(each.key)} onClick={() => toggle(each.key)}>
              <Sign of={each} /> <b>{number(each.count)}</b> {worded(each.says)}
            </button>
          </li>
        ))}
    </ul>
  );
}

function Sign({ of: { key, token } }: { of: Entry }) {
  return isNotUp(key) || key === "up" ? (
    <Glyph state={key} />
  ) : (
    <i class="swatch" style={{ background: `var(--${token})` }} />
  );
}
