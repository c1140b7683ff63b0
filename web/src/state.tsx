// States as glyph, color and word; durations and times; counts of unhealthy parts.
import { number, pluralize } from "./words";

export const STATES = ["down", "degraded", "maintenance", "up"] as const;
export type State = (typeof STATES)[number];

const SHAPES: Record<State, preact.ComponentChildren> = {
  up: <circle cx="8" cy="8" r="4" />,
  degraded: (
    <>
      <circle class="open" cx="8" cy="8" r="5" />
      <path d="M8 3a5 5 0 0 1 0 10z" />
    </>
  ),
  down: <path class="open" d="M3.5 3.5l9 9m0-9l-9 9" />,
  maintenance: <path d="M8 2l6 6-6 6-6-6z" />,
};

export const isState = (text: string): text is State => Object.hasOwn(SHAPES, text);

export function Glyph({ state }: { state: string }) {
  const knownState = isState(state) ? state : "up";
  return (
    <svg class={`glyph ${knownState}`} viewBox="0 0 16 16" aria-hidden="true">
      {SHAPES[knownState]}
    </svg>
  );
}

/** A state as glyph and word. */
export function StateLabel({ state, children }: { state: string; children?: preact.ComponentChildren }) {
  return (
    <span class={`state-label ${isState(state) ? state : "up"}`}>
      <Glyph state={state} /> {children ?? state}
    </span>
  );
}

export const WARNING = <path d="M8 2l6.5 12h-13zM8 6.5v3.6m0 1.4v1" />;

/** What unhealthy parts mean for something that has no state itself, such as a job. */
export function Warning({ state, children }: { state: State; children: preact.ComponentChildren }) {
  return (
    <span class={`state-label ${state}`}>
      <svg class="glyph warning" viewBox="0 0 16 16" aria-hidden="true">
        {WARNING}
      </svg>{" "}
      {children}
    </span>
  );
}

export interface Count {
  kind: string;
  state: string;
  count: number;
}

const NOUNS: Record<string, string> = { nic: "NIC", network_node: "network node" };
export const nounOf = (kind: string) => NOUNS[kind] ?? kind.replaceAll("_", " ");

/** Counts by kind and state, worst first: ✕ 1 switch down; bare: ✕ 1 down. */
export function Counts({ counts, bare }: { counts: Count[]; bare?: boolean }) {
  const rank = ({ state }: Count) => STATES.indexOf(isState(state) ? state : "up");
  return (
    <>
      {[...counts]
        .sort((a, b) => rank(a) - rank(b))
        .map(({ kind, state, count }) => (
          <StateLabel key={`${kind} ${state}`} state={state}>
            {bare ? number(count) : pluralize(count, nounOf(kind))} {stateWord(state)}
          </StateLabel>
        ))}
    </>
  );
}

export const stateWord = (state: string) => (state === "maintenance" ? "in maintenance" : state);

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
/** From so many days on, hours say nothing more. */
const LONG = 10 * DAY;

/** A duration in words, of two units from an hour to ten days: 28 min, 3 h 5 min, 2 d 18 h. */
export function formatDuration(since: string, until = Date.now()): string {
  const seconds = Math.max(0, (until - Date.parse(since)) / 1000);
  const whole = (unit: number, of = seconds) => Math.floor(of / unit);
  if (seconds < MINUTE) return `${whole(1)} s`;
  if (seconds < HOUR) return `${whole(MINUTE)} min`;
  if (seconds < DAY) return `${whole(HOUR)} h ${whole(MINUTE, seconds % HOUR)} min`;
  if (seconds < LONG) return `${whole(DAY)} d ${whole(HOUR, seconds % DAY)} h`;
  return `${number(whole(DAY))} d`;
}

/** A time in UTC, to the second. */
export const formatTime = (time: string | number | Date) => new Date(time).toISOString().slice(11, 19);
export const formatDateTime = (time: string | number | Date) =>
  `${new Date(time).toISOString().slice(0, 10)} ${formatTime(time)} UTC`;

/** A time: of the same day without its date. */
export function ShortTime({ time, now }: { time: string; now: number }) {
  const isToday = time.slice(0, 10) === new Date(now).toISOString().slice(0, 10);
  return (
    <time dateTime={time} title={formatDateTime(time)}>
      {isToday ? formatTime(time).slice(0, 5) : formatDateTime(time).slice(5, 16)}
    </time>
  );
}

/** Since when something is so, if that is known, and for how long. */
export function Since({ time, now }: { time: string | null | undefined; now: number }) {
  return time ? (
    <>
      <ShortTime time={time} now={now} /> <span class="quiet">{formatDuration(time, now)}</span>
    </>
  ) : (
    "unknown"
  );
}

/** Whether an `asof` is a time, not the number of an event. */
export const isTime = (asof: string) => !/^\d*$/.test(asof) && !Number.isNaN(Date.parse(asof));

/** The time that the page shows, as a number. */
export const shownTime = (asof: string) => (isTime(asof) ? Date.parse(asof) : Date.now());

/** The time that the page shows, in words. */
export const formatAsOf = (asof: string) =>
  isTime(asof) ? formatDateTime(asof) : /^\d+$/.test(asof) ? `event ${asof}` : asof;
