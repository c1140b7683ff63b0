// The time up to now: what was not up, what changed, and the moment that the page shows, which can be dragged.
import { useEffect, useRef, useState } from "preact/hooks";
import { useAsOf } from "../live";
import { Choice, Loading } from "../parts";
import { change, oneOf } from "../route";
import { formatDateTime, Glyph, shownTime } from "../state";
import "../style/timeline.css";
import { number, pluralize } from "../words";
import { type History, SPANS, useHistory } from "./history";
import { type MergedChange, mergeChanges, neighborTime, ticks } from "./scale";

const LABELS = { "24h": "24 h", "7d": "7 d", "30d": "30 d", all: "all" };
const MINUTE = 60_000;
/** Pixels between two marks of changes, and for the name of a tick. */
const [NEAR, NAME] = [26, 90];
/** How long the keys rest before the page follows, in milliseconds. */
const REST = 400;

export function Timeline({ scope, span: spanOption }: { scope?: string; span: string | undefined }) {
  const span = oneOf(SPANS, spanOption, "24h");
  return (
    <section class="card timeline" aria-label="Timeline">
      <header>
        <h2>Unhealthy parts over time</h2>
        <Choice
          name="Time"
          options={LABELS}
          chosen={span}
          choose={(value) => change({ span: value === "24h" ? undefined : value }, true)}
        />
      </header>
      <Loading result={useHistory(scope, span)}>{(past) => <Line past={past} />}</Loading>
    </section>
  );
}

/** How wide an element is, in pixels. */
function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, measured] = useState(600);
  useEffect(() => {
    if (!box.current) return;
    const watch = new ResizeObserver(([entry]) => measured(entry?.contentRect.width || 600));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return { box, width };
}

/** The moment that is shown, or the one to which the cursor is being moved; the page follows when it rests. */
function useCursor(past: History) {
  const { asof } = useAsOf();
  const shown = Math.max(past.since, Math.min(past.until, asof ? shownTime(asof) : past.until));
  const [moved, move] = useState<number>();
  const timer = useRef(0);
  const time = moved ?? shown;
  const to = (next: number) => {
    const within = Math.max(past.since, Math.min(past.until, next));
    move(within);
    return within;
  };
  const settle = (time: number) => {
    clearTimeout(timer.current);
    move(undefined);
    const live = time >= past.until - Math.min(MINUTE / 2, (past.until - past.since) / 100);
    change({ asof: live ? undefined : new Date(time).toISOString() });
  };
  const later = (time: number) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => settle(time), REST);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return { time, to, settle, later };
}

function Line({ past }: { past: History }) {
  const { box, width } = useWidth();
  const { time, to, settle, later } = useCursor(past);
  const length = Math.max(1, past.until - past.since);
  const place = (time: number) =>
    `${(100 * (Math.max(past.since, Math.min(past.until, time)) - past.since)) / length}%`;
  const most = Math.max(0, ...past.counts);
  const unhealthy =
    past.counts[Math.min(past.counts.length - 1, Math.floor(((time - past.since) / length) * past.counts.length))] ?? 0;

  const timeAt = (event: PointerEvent) => {
    const { left, width: wide } = (event.currentTarget as Element).getBoundingClientRect();
    return past.since + ((event.clientX - left) / Math.max(1, wide)) * length;
  };
  const press = (event: PointerEvent) => {
    if (event.button || (event.target as Element).closest("button")) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    to(timeAt(event));
  };
  const drag = (event: PointerEvent) => {
    if ((event.currentTarget as Element).hasPointerCapture(event.pointerId)) to(timeAt(event));
  };
  const drop = (event: PointerEvent) => {
    if ((event.currentTarget as Element).hasPointerCapture(event.pointerId)) settle(to(timeAt(event)));
  };
  const type = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = event.shiftKey ? 60 * MINUTE : MINUTE;
    const next = {
      ArrowLeft: time - step,
      ArrowRight: time + step,
      Home: past.since,
      End: past.until,
      "[": neighborTime(past.changes, time, -1),
      "]": neighborTime(past.changes, time, 1),
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    later(to(next));
  };
  return (
    <>
      <p class="quiet">
        {most ? `At most ${number(most)} at once.` : "Every part was up the whole time."}
        {past.historyStart > past.since && ` History starts ${formatDateTime(past.historyStart)}.`}
        {past.olderChanges > 0 &&
          ` Showing the last ${number(past.changes.length)} changes, not ${number(past.olderChanges)} older ones.`}
        {past.omitted > 0 && ` ${pluralize(past.omitted, "cluster")} omitted.`}
      </p>
      <div class="line" ref={box} onPointerDown={press} onPointerMove={drag} onPointerUp={drop}>
        <Area past={past} most={most} historyStart={place(past.historyStart)} />
        {mergeChanges(past.changes, (NEAR * length) / width).map((mark) => (
          <Mark key={mark.from} mark={mark} left={place(mark.from)} show={() => settle(mark.time)} />
        ))}
        <div
          class={time - past.since < length / 4 ? "cursor early" : "cursor"}
          role="slider"
          tabIndex={0}
          aria-label="Time shown. Arrow keys move by a minute, with Shift by an hour; [ and ] jump to a change"
          aria-valuemin={past.since}
          aria-valuemax={past.until}
          aria-valuenow={time}
          aria-valuetext={`${formatDateTime(time)}, ${pluralize(unhealthy, "unhealthy part")}`}
          style={{ left: place(time) }}
          onKeyDown={type}
        >
          <span>
            {time < past.until ? formatDateTime(time).slice(5, 19) : "now"}
            {unhealthy > 0 && `, ${number(unhealthy)}`}
          </span>
        </div>
        {ticks(past.since, past.until, Math.max(2, Math.floor(width / NAME))).map(({ time: tick, label }) => (
          <span key={tick} class="tick" style={{ left: place(tick) }}>
            {label}
          </span>
        ))}
      </div>
    </>
  );
}

function Area({ past, most, historyStart }: { past: History; most: number; historyStart: string }) {
  const wide = 1000 / past.counts.length;
  const steps = past.counts.map(
    (count, index) => `V${40 - (most ? (36 * count) / most : 0)}H${((index + 1) * wide).toFixed(1)}`,
  );
  return (
    <>
      {past.historyStart > past.since && <span class="unknown" style={{ width: historyStart }} />}
      <svg viewBox="0 0 1000 40" preserveAspectRatio="none" aria-hidden="true">
        {most > 0 && <path class="lost" d={`M0 40${steps.join("")}V40z`} />}
        <path class="base" d="M0 40H1000" />
      </svg>
    </>
  );
}

function Mark({ mark, left, show }: { mark: MergedChange; left: string; show: () => void }) {
  const last = mark.changes.at(-1);
  const description =
    mark.changes.length === 1 && last
      ? `${last.address}: ${last.before} → ${last.after}, ${formatDateTime(last.at)}: ${last.why}`
      : `${pluralize(mark.changes.length, "change")} up to ${formatDateTime(mark.time)}`;
  return (
    <button
      type="button"
      class="change"
      style={{ left }}
      title={description}
      aria-label={`Show ${description}`}
      onClick={show}
    >
      <Glyph state={mark.state} />
      {mark.changes.length > 1 && <span>{mark.changes.length}</span>}
    </button>
  );
}
