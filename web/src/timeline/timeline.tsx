// The timeline: a picture of unhealthy parts and changes up to now, and a cursor at the time that the page shows.
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useAsOf } from "../live";
import { Choice } from "../parts";
import { Picture } from "../picture";
import { change, oneOf } from "../route";
import { formatDateTime, shownTime } from "../state";
import "../style/tabs.css";
import "../style/timeline.css";
import { number, pluralize } from "../words";

const SPANS = { "24h": 24, "7d": 24 * 7, "30d": 24 * 30, all: undefined };
const LABELS = { "24h": "24 h", "7d": "7 d", "30d": "30 d", all: "all" };
const MINUTE = 60_000;
/** How long after the last key the page follows the cursor, in milliseconds. */
const REST = 400;

/** What the picture shows, for the cursor over it. */
interface Drawn {
  since: number;
  until: number;
  /** Width of the picture, which may leave some pixels of the page free. */
  width: number;
  /** Height of the text above the bars, and of the bars. */
  top: number;
  height: number;
  /** The most unhealthy parts at once in intervals of equal length. */
  counts: number[];
  /** Times of changes, the earliest first. */
  changes: number[];
}

interface Props {
  scope?: string;
  span: string | undefined;
  /** The span that is shown if the address has none. */
  usual?: keyof typeof SPANS;
}

export function Timeline({ scope, span: spanOption, usual = "24h" }: Props) {
  const span = oneOf(SPANS, spanOption, usual);
  const [drawn, setDrawn] = useState<Drawn>();
  const read = useCallback((svg: SVGSVGElement) => {
    svg.onclick = follow;
    const { dataset } = svg;
    const list = (text: string | undefined) => (text ? text.split(" ") : []);
    setDrawn({
      since: Date.parse(dataset.since ?? ""),
      until: Date.parse(dataset.until ?? ""),
      width: svg.viewBox.baseVal.width,
      top: -svg.viewBox.baseVal.y,
      height: Number(dataset.height),
      counts: list(dataset.counts).map(Number),
      changes: list(dataset.changes).map(Date.parse),
    });
  }, []);
  return (
    <section class="card timeline" aria-label="Timeline">
      <header class="tabs">
        <h2>Unhealthy parts over time</h2>
        <Choice
          name="Time"
          options={LABELS}
          chosen={span}
          choose={(value) => change({ span: value === usual ? undefined : value }, true)}
        />
      </header>
      <Line drawn={drawn}>
        <Picture name="timeline" options={{ scope, hours: SPANS[span] }} at="" onDrawn={read} />
      </Line>
    </section>
  );
}

/** Let a mark lead to its time on this page, not on the one that its address names. */
function follow(event: MouseEvent): void {
  const address = (event.target as Element).closest("a")?.getAttribute("href");
  if (!address || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  change({ asof: new URLSearchParams(address.split("?")[1]).get("asof") ?? undefined });
}

/** The cursor's time; the page follows when the cursor rests. */
function useCursor({ since, until }: Drawn) {
  const { asof } = useAsOf();
  const clamp = (time: number) => Math.max(since, Math.min(until, time));
  const [moved, move] = useState<number>();
  const timer = useRef(0);
  const to = (next: number) => {
    move(clamp(next));
    return clamp(next);
  };
  const settle = (time: number) => {
    clearTimeout(timer.current);
    move(undefined);
    const live = time >= until - Math.min(MINUTE / 2, (until - since) / 100);
    change({ asof: live ? undefined : new Date(time).toISOString() });
  };
  const later = (time: number) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => settle(time), REST);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return { time: moved ?? clamp(asof ? shownTime(asof) : until), to, settle, later };
}

const NOTHING: Drawn = { since: 0, until: 0, width: 0, top: 0, height: 0, counts: [], changes: [] };

function Line({ drawn = NOTHING, children }: { drawn: Drawn | undefined; children: ComponentChildren }) {
  const { since, until, width, top, height, counts, changes } = drawn;
  const { time, to, settle, later } = useCursor(drawn);
  const box = useRef<HTMLDivElement>(null);
  const length = Math.max(1, until - since);
  const share = (time - since) / length;
  const unhealthy = counts[Math.min(counts.length - 1, Math.floor(share * counts.length))] ?? 0;
  const timeAt = ({ clientX }: PointerEvent) => {
    const { left = 0, width = 1 } = box.current?.getBoundingClientRect() ?? {};
    return since + ((clientX - left) / Math.max(1, width)) * length;
  };
  const press = (event: PointerEvent) => {
    if (event.button || (event.target as Element).closest("a")) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    to(timeAt(event));
  };
  const isDragging = (event: PointerEvent) => (event.currentTarget as Element).hasPointerCapture(event.pointerId);
  const drag = (event: PointerEvent) => isDragging(event) && to(timeAt(event));
  const drop = (event: PointerEvent) => isDragging(event) && settle(to(timeAt(event)));
  const type = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = event.shiftKey ? 60 * MINUTE : MINUTE;
    const next = {
      ArrowLeft: time - step,
      ArrowRight: time + step,
      Home: since,
      End: until,
      "[": changes.findLast((other) => other < time),
      "]": changes.find((other) => other > time),
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    later(to(next));
  };
  return (
    <div class="line" onPointerDown={press} onPointerMove={drag} onPointerUp={drop}>
      {children}
      <div class="overlay" ref={box} style={{ "--drawn": `${width}px`, top: `${top}px`, height: `${height}px` }}>
        {until > 0 && (
          <div
            class={share < 1 / 4 ? "cursor early" : "cursor"}
            role="slider"
            tabIndex={0}
            aria-label="Time shown. Arrow keys move by a minute, with Shift by an hour; [ and ] jump to a change"
            aria-valuemin={since}
            aria-valuemax={until}
            aria-valuenow={time}
            aria-valuetext={`${formatDateTime(time)}, ${pluralize(unhealthy, "unhealthy part")}`}
            style={{ left: `${100 * share}%` }}
            onKeyDown={type}
          >
            <span>
              {time < until ? formatDateTime(time).slice(5, 19) : "now"}
              {unhealthy > 0 && `, ${number(unhealthy)}`}
            </span>
          </div>
        )}
      </div>
    </div>
  );
}
