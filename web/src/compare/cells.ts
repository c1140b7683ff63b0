// The cells of the comparison: one request for each metric of each place, so that each comes, fails and is retried alone.
import { useEffect, useReducer, useRef } from "preact/hooks";
import { ApiError, type Query, runQuery } from "../api";
import { HEALTHY, type Outcome, type Size, sizeQuery, unhealthyCounts } from "./documents";
import { METRICS, type Metric, type Reading } from "./metrics";

export type Cell =
  | { is: "loading"; since: number }
  | { is: "failed"; error: ApiError }
  | { is: "known"; reading: Reading }
  /** A system that is not seeded has no wiring. */
  | { is: "unseeded" };

export interface Cells {
  /** A metric of the n-th place; undefined until the place itself is known. */
  get: (metric: Metric, place: number) => Cell | undefined;
  /** Request a metric of a place again. */
  retry: (metric: Metric, place: number) => void;
}

/** The code of the error that says that the history of a place starts later. */
const BAD_TIME = "BAD_TIME";

/** Load a metric; what limits it is named only if more would flow with every part up: else other parts limit it alike. */
async function load(metric: Metric, query: Query, size: Size, signal: AbortSignal): Promise<Reading> {
  const { limitedBy, ...reading } = metric.read(await runQuery(query, signal));
  if (!limitedBy || query.at === HEALTHY || !unhealthyCounts(size).length) return reading;
  const healthy = await runQuery({ ...query, at: HEALTHY }, signal).then(metric.read, (error: ApiError) => {
    if (error.code === BAD_TIME) return reading;
    throw error;
  });
  return (reading.value ?? 0) < (healthy.value ?? 0) ? { ...reading, limitedBy } : reading;
}

/** Load the cells of places, whose heads have come, at a time; undefined: the page's time. */
export function useCells(places: string[], sizes: Outcome<Size>[] | undefined, at: string | undefined): Cells {
  const cells = useRef(new Map<string, Cell>());
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const signal = useRef(new AbortController());
  const keyOf = (metric: Metric, place: number) => `${metric.name} ${places[place]}`;
  const set = (metric: Metric, place: number, cell: Cell) => {
    cells.current.set(keyOf(metric, place), cell);
    redraw(0);
  };
  const request = (metric: Metric, place: number) => {
    const size = sizes?.[place]?.data;
    if (!size) return;
    if (size.design) {
      const value = metric.design?.(size.design);
      return set(metric, place, metric.design ? { is: "known", reading: { value } } : { is: "unseeded" });
    }
    const query = metric.query(places[place] ?? "", size);
    if (!query) return set(metric, place, { is: "known", reading: { value: null, reason: "no chip works" } });
    const { current: control } = signal;
    set(metric, place, { is: "loading", since: performance.now() });
    load(metric, { ...query, at }, size, control.signal).then(
      (reading) => control.signal.aborted || set(metric, place, { is: "known", reading }),
      (error) =>
        control.signal.aborted ||
        set(metric, place, {
          is: "failed",
          error: error instanceof ApiError ? error : new ApiError(String(error), ""),
        }),
    );
  };
  useEffect(() => {
    signal.current = new AbortController();
    cells.current = new Map();
    // what is solved comes last, since a browser sends only a few requests at a time
    const ordered = [...METRICS].sort((a, b) => Number(a.isSolved ?? false) - Number(b.isSolved ?? false));
    if (sizes) for (const metric of ordered) for (let place = 0; place < places.length; place++) request(metric, place);
    redraw(0);
    return () => signal.current.abort();
  }, [sizes, at]);
  return { get: (metric, place) => cells.current.get(keyOf(metric, place)), retry: request };
}

/** The queries of one place, to be copied. */
export const queriesOf = (places: string[], sizes: Outcome<Size>[] | undefined) =>
  places.flatMap((place, index) => {
    const size = sizes?.[index]?.data;
    const all = size && !size.design ? METRICS.flatMap((metric) => metric.query(place, size) ?? []) : [];
    return [sizeQuery(place), ...new Map(all.map((query) => [JSON.stringify(query), query])).values()];
  });
