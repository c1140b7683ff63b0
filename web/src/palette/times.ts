// Times as people type them: yesterday 14:00, 3 h ago, Monday, 2026-11-22. All are UTC, as on the pages.
import { score, wordsOf } from "./match";

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
const UNITS: Record<string, number> = { m: MINUTE, h: 60 * MINUTE, d: DAY, w: 7 * DAY };
const DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/** 3 h ago, an hour ago. */
function agoOf(text: string, now: number): number | undefined {
  const match = /^(an?|\d{1,6})\s*(m|min|minutes?|mins|h|hrs?|hours?|d|days?|weeks?)\s+ago$/.exec(text);
  if (!match) return undefined;
  const [, count = "", unit = ""] = match;
  return now - (/^a/.test(count) ? 1 : Number(count)) * (UNITS[unit[0] ?? ""] ?? 0);
}

/** The latest midnight that a day's name means, and after how long the name is that of another day. */
function dayOf(words: string[], now: number): [midnight: number, period: number] | undefined {
  const midnight = now - (now % DAY);
  if (!words.length) return [midnight, DAY];
  if (/^\d{4}-\d\d?-\d\d?$/.test(words.join("-"))) {
    const [year = 0, month = 0, day = 0] = words.map(Number);
    const time = Date.UTC(year, month - 1, day);
    return new Date(time).getUTCDate() === day ? [time, Number.NaN] : undefined;
  }
  const [word = "", ...more] = words;
  if (more.length || word.length < 3) return undefined;
  if (score(word, "today")) return [midnight, Number.NaN];
  if (score(word, "yesterday")) return [midnight - DAY, Number.NaN];
  const weekday = DAYS.findIndex((name) => score(word, name));
  if (weekday < 0) return undefined;
  return [midnight - ((new Date(midnight).getUTCDay() - weekday + 7) % 7) * DAY, 7 * DAY];
}

/** The earlier time that a text means, in milliseconds; undefined if it means none, or a time to come. */
export function timeOf(typed: string, now = Date.now()): number | undefined {
  const text = typed
    .trim()
    .toLowerCase()
    .replace(/\b(utc|at|as of)\b|(?<=\d)[tz](?=\d|$)/g, " ")
    .trim();
  const ago = agoOf(text, now);
  if (ago !== undefined) return ago;
  const clock = /(?:^|\s)([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(text);
  const date = wordsOf(clock ? text.slice(0, clock.index) : text);
  if (!clock && !date.length) return undefined;
  const [midnight, period] = dayOf(date, now) ?? [Number.NaN, 0];
  const [, hours = 0, minutes = 0, seconds = 0] = clock ?? [];
  const time = midnight + (Number(hours) * 60 + Number(minutes)) * MINUTE + Number(seconds) * 1000;
  return [time, time - period].find((each) => each <= now);
}
