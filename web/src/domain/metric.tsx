// A number, or its value before → after the scenario with the difference.
import { formatDifference, number } from "../words";

interface Props {
  name: string;
  now: number | null;
  /** Undefined: no scenario; null: no value before. */
  before: number | null | undefined;
  unit?: string;
  /** Whether a higher value is worse, as for hops. */
  less?: boolean;
  /** Whether it is what was asked for, which is the largest on the page. */
  isAnswer?: boolean;
  /** Shown instead of the difference: why they do not compare. */
  note?: string | undefined;
}

export function Metric({ name, now, before, unit = "", less = false, isAnswer = false, note }: Props) {
  const shown = (value: number | null) => (value === null ? "none" : number(value));
  const unitOf = (value: number | null) => (value === null || !unit ? "" : ` ${unitLabel(unit, value)}`);
  const changed = before !== undefined && before !== now;
  const worse = changed && (now === null || (before !== null && (less ? now > before : now < before)));
  return (
    <div class={isAnswer ? "answer" : undefined}>
      <dt>{name}</dt>
      <dd>
        {changed && (
          <>
            <s>
              <span class="unseen">before </span>
              {shown(before)}
            </s>{" "}
            <span aria-hidden="true">→</span>{" "}
          </>
        )}
        {note && before === now && <span class="quiet">unchanged, </span>}
        <strong>
          {shown(now)}
          {unitOf(now)}
        </strong>
        {(note || (changed && before !== null && now !== null)) && (
          <>
            {" "}
            <em class={note ? "quiet" : worse ? "worse" : "better"}>
              {note ?? formatDifference(before as number, now as number)}
            </em>
          </>
        )}
      </dd>
    </div>
  );
}

/** A unit, or a noun in singular or plural. */
const unitLabel = (unit: string, value: number) =>
  unit === "hop" || unit === "link" || unit === "chip" ? `${unit}${value === 1 ? "" : "s"}` : unit;
