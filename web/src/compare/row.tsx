// A row of the comparison: a metric of each place, with its bar, or what became of the request.
import { isRetryable } from "../api";
import { Change, DisputeMark } from "../parts";
import { formatDifference, number, relativeTo } from "../words";
import type { Cell, Cells } from "./cells";
import { best, type Metric, type Reading } from "./metrics";

interface RowProps {
  metric: Metric;
  places: string[];
  now: Cells;
  before: Cells | undefined;
  /** For each place whether it exists. */
  known: boolean[];
  /** For each place its chips, in any state. */
  chips: (number | undefined)[];
  /** Whether it is known which places exist. */
  isReady: boolean;
  /** Whether the best value is marked: sums of places of different sizes are no contest. */
  isContest: boolean;
  /** The time, in milliseconds as of `performance.now()`. */
  clock: number;
}

const readingOf = (cell: Cell | undefined): Reading | undefined => (cell?.is === "known" ? cell.reading : undefined);

export function MetricRow({ metric, places, now, before, known, chips, isReady, isContest, clock }: RowProps) {
  const cells = places.map((_, place) => now.get(metric, place));
  const values = cells.map((cell) => readingOf(cell)?.value);
  // without the other values there is no scale yet, and nothing is best
  const isWaiting = known.some((is, place) => is && (!cells[place] || cells[place]?.is === "loading"));
  const shares = isWaiting ? [] : sharesOf(values);
  // half of what is left may be cut off elsewhere, and then more flows than where every chip works
  const partial = cells.map((cell, place) => {
    const halves = readingOf(cell)?.halves;
    return isContest && halves !== undefined && halves !== chips[place];
  });
  const leading = isWaiting || !isContest || partial.includes(true) ? new Set<number>() : best(values, metric.better);
  return (
    <tr>
      <th scope="row">
        <div>
          {[metric.name, metric.unit].filter(Boolean).join(", ")}{" "}
          <span class="quiet">
            {metric.description}
            {metric.better === "less" && "; fewer is better"}
          </span>
        </div>
      </th>
      {places.map((place, index) => (
        <MetricCell
          key={place}
          place={place}
          metric={metric}
          cell={cells[index]}
          before={readingOf(before?.get(metric, index))}
          isMissing={isReady && !known[index]}
          isBest={leading.has(index)}
          hasBar={!partial.includes(true)}
          share={shares[index] ?? 0}
          partOf={partial[index] ? chips[index] : undefined}
          times={partial[0] || partial[index] ? "" : timesOf(values, index)}
          retry={() => now.retry(metric, index)}
          clock={clock}
        />
      ))}
    </tr>
  );
}

/** The lengths of the bars, relative to the largest value. */
function sharesOf(values: (number | null | undefined)[]): number[] {
  const most = Math.max(...values.map((value) => value ?? 0));
  return values.map((value) => (value ? value / most : 0));
}

function timesOf(values: (number | null | undefined)[], index: number): string {
  const [first, value] = [values[0], values[index]];
  return index > 0 && typeof first === "number" && first > 0 && typeof value === "number"
    ? `${(value / first).toFixed(2)}×`
    : "";
}

interface CellProps {
  place: string;
  metric: Metric;
  cell: Cell | undefined;
  before: Reading | undefined;
  isMissing: boolean;
  isBest: boolean;
  /** Whether it has a bar, of this length. */
  hasBar: boolean;
  share: number;
  /** Its chips, if the halves of its bisection do not have all of them. */
  partOf: number | undefined;
  times: string;
  retry: () => void;
  clock: number;
}

function MetricCell({
  place,
  metric,
  cell,
  before,
  isMissing,
  isBest,
  hasBar,
  share,
  partOf,
  times,
  retry,
  clock,
}: CellProps) {
  if (isMissing) return <td class="quiet">unknown</td>;
  if (!cell || cell.is === "loading") return <Pending seconds={cell ? Math.floor((clock - cell.since) / 1000) : 0} />;
  if (cell.is === "unseeded")
    return (
      <td class="quiet">
        <span aria-hidden="true">—</span> known after seeding
      </td>
    );
  if (cell.is === "failed") {
    return (
      <td class="failed">
        <span class="value">
          <span class="message" title={cell.error.message}>
            {cell.error.code === "TIME_LIMIT" ? "Timed out. Other cells are not affected." : cell.error.message}
          </span>
          {isRetryable(cell.error) && (
            <button type="button" class="small" onClick={retry}>
              Retry
            </button>
          )}
        </span>
      </td>
    );
  }
  const { value, reason } = cell.reading;
  if (value === null || value === undefined)
    return <td class="quiet">{reason ? `not defined: ${reason}` : "not known"}</td>;
  return (
    <td>
      <span class="value">
        {isBest && <span class="leads" aria-hidden="true" />}
        <Value better={metric.better} value={value} before={before} isBest={isBest} halves={cell.reading.halves} />
        {cell.reading.disputed && <DisputeMark {...cell.reading.disputed} />}
        {times && <span class="times">{times}</span>}
        {partOf && !before && (
          <span class="note">
            not comparable: of {number(cell.reading.halves ?? 0)}, not {number(partOf)} chips
          </span>
        )}
      </span>
      {hasBar && (
        <span class={metric.better === "less" ? "track costs" : "track"} aria-hidden="true">
          <span style={{ width: `${100 * share}%` }} />
        </span>
      )}
      {cell.reading.limitedBy && !before && (
        <span class="quiet limit">limited by {relativeTo(place, cell.reading.limitedBy)}</span>
      )}
      {cell.reading.from && <span class="quiet limit">from {relativeTo(place, cell.reading.from)}</span>}
    </td>
  );
}

interface ValueProps {
  better: Metric["better"];
  value: number;
  before: Reading | undefined;
  isBest: boolean;
  halves: number | undefined;
}

function Value({ better, value, before, isBest, halves }: ValueProps) {
  const earlier = before?.value ?? undefined;
  const isOther = halves !== undefined && before?.halves !== undefined && before.halves !== halves;
  return (
    <>
      {earlier === undefined ? (
        <span class={isBest ? "best" : ""}>{number(value)}</span>
      ) : (
        <Change now={number(value)} before={number(earlier)} />
      )}
      {isBest && <span class="unseen">best</span>}
      {isOther ? (
        <span class="note">
          not comparable: {number(before?.halves ?? 0)} chips before, {number(halves)} now
        </span>
      ) : (
        earlier !== undefined && earlier !== value && <Share before={earlier} after={value} better={better} />
      )}
    </>
  );
}

/** After a second it says how long it has been loading. */
const Pending = ({ seconds }: { seconds: number }) => (
  <td aria-busy="true">
    <span class="value">
      <span class="skeleton" aria-hidden="true" />
      <span class="times">{seconds > 0 ? `loading, ${seconds} s` : <span class="unseen">loading</span>}</span>
    </span>
    <span class="track" aria-hidden="true" />
  </td>
);

function Share({ before, after, better }: { before: number; after: number; better: Metric["better"] }) {
  if (!before) return null;
  const worse = better && (better === "more" ? after < before : after > before);
  return <span class={worse ? "less" : "quiet"}>{formatDifference(before, after)}</span>;
}
