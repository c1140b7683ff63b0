// Where times are on a line: ticks at round times, and changes that are too near each other as one.
import { STATES } from "../state";
import type { Change } from "./history";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 4 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 90 * DAY];

export interface Tick {
  time: number;
  label: string;
}

/** Round times between two, at most so many. */
export function ticks(since: number, until: number, most: number): Tick[] {
  const step = STEPS.find((size) => (until - since) / size <= most) ?? (until - since) / most;
  const first = Math.ceil(since / step) * step;
  return Array.from({ length: Math.max(0, Math.floor((until - first) / step) + 1) }, (_, index) => {
    const time = first + index * step;
    const text = new Date(time).toISOString();
    return { time, label: step < DAY && time % DAY ? text.slice(11, 16) : text.slice(5, 10) };
  });
}

export interface MergedChange {
  /** Of the first, where it is drawn, and of the last. */
  from: number;
  time: number;
  state: string;
  changes: Change[];
}

/** Of changes of states every one has it. */
const stateOf = ({ after }: Change) => after ?? "up";
const rank = (state: string) => (STATES as readonly string[]).indexOf(state);

/** Changes nearer than so many milliseconds as one, with the worst of their states. */
export function mergeChanges(changes: Change[], near: number): MergedChange[] {
  const marks: MergedChange[] = [];
  for (const change of [...changes].sort((a, b) => Date.parse(a.at) - Date.parse(b.at))) {
    const [time, last] = [Date.parse(change.at), marks.at(-1)];
    if (last && time - last.from < near) {
      last.changes.push(change);
      last.time = time;
      if (rank(stateOf(change)) < rank(last.state)) last.state = stateOf(change);
    } else marks.push({ from: time, time, state: stateOf(change), changes: [change] });
  }
  return marks;
}

/** The time of the change before or after another time. */
export function neighborTime(changes: Change[], time: number, way: 1 | -1): number | undefined {
  const times = changes.map(({ at }) => Date.parse(at)).sort((a, b) => a - b);
  return way > 0 ? times.find((other) => other > time) : times.findLast((other) => other < time);
}
