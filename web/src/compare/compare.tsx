// Two to four places side by side: as they are, as they were seeded, or now against an earlier time.
import { useEffect, useMemo } from "preact/hooks";
import { ApiError } from "../api";
import { useAsOf } from "../live";
import { Change, Choice, CopyQueries, Loading } from "../parts";
import { change, href, oneOf } from "../route";
import { Counts, StateLabel as State, shownTime } from "../state";
import "../style/compare.css";
import { formatDifference, number, pluralize } from "../words";
import { placesOf, storePlaces } from "./collection";
import {
  HEALTHY,
  type Outcome,
  queriesOf,
  type Size,
  unhealthyCounts,
  useSizes,
  useWiringNumbers,
  type WiringNumbers,
} from "./documents";
import { Add, comparePlaces, Earlier } from "./forms";
import { type Answers, best, GROUPS, type Metric } from "./metrics";
import { Thumbnail } from "./thumbnail";

// biome-ignore lint/suspicious/noThenProperty: an option of the address, never awaited
const AS = { now: "Now", healthy: "When healthy", then: "Now and earlier" };

export function Compare({ options }: { options: Record<string, string> }) {
  const places = placesOf(options.of);
  const as = oneOf(AS, options.as, "now");
  const { asof, epoch } = useAsOf();
  useEffect(() => {
    if (places.length) storePlaces(places);
  }, [options.of]);
  return (
    <article>
      <header class="title">
        <h1>Compare</h1>
        {places.length > 0 && <p>{pluralize(places.length, "place")}</p>}
        <div class="tools">
          <Choice
            name="Show"
            options={AS}
            chosen={as}
            choose={(value) => change({ as: value === "now" ? undefined : value, since: undefined })}
          />
          <CopyQueries queries={queriesOf(places)} />
        </div>
      </header>
      <Add places={places} />
      {places.length > 0 && (
        <Columns
          key={`${places} ${as} ${options.since} ${asof} ${epoch}`}
          places={places}
          as={as}
          since={options.since}
        />
      )}
    </article>
  );
}

interface ColumnsProps {
  places: string[];
  as: keyof typeof AS;
  since: string | undefined;
}

const HOUR = 3_600_000;

function Columns({ places, as, since }: ColumnsProps) {
  const { asof } = useAsOf();
  const earlier = useMemo(
    () => since ?? new Date(shownTime(asof) - HOUR).toISOString().replace(/\.\d+/, ""),
    [since, asof],
  );
  const at = as === "healthy" ? HEALTHY : undefined;
  const past = as === "then" ? places : [];
  const [sizes, before] = [useSizes(places, at), useSizes(past, earlier)];
  const [wired, wiredBefore] = [useWiringNumbers(places, sizes.data, at), useWiringNumbers(past, before.data, earlier)];
  return (
    <>
      {as === "then" && <Earlier time={earlier} />}
      <Loading result={sizes}>
        {(loaded) =>
          loaded.length === places.length ? (
            <Table
              places={places}
              now={answersOf(loaded, wired.data)}
              before={as === "then" ? answersOf(before.data?.map(withoutDesign), wiredBefore.data) : undefined}
              sizes={loaded}
              errors={loaded.map(
                (size, index) => size.error ?? wired.data?.[index]?.error ?? before.data?.[index]?.error,
              )}
              healthy={as === "healthy"}
              waiting={!wired.data || (as === "then" && !wiredBefore.data)}
            />
          ) : null
        }
      </Loading>
      <p class="quiet">
        ▲ marks the best value in a row. × is relative to the first place. Bandwidths are in one direction.
        {as === "healthy" && " Shown as seeded, with every part up."}
      </p>
    </>
  );
}

const answersOf = (
  sizes: Outcome<Size>[] | undefined,
  wired: (Outcome<WiringNumbers> | undefined)[] | undefined,
): (Answers | undefined)[] =>
  (sizes ?? []).map(({ data }, index) => data && { size: data, wired: wired?.[index]?.data });

/** Places that have a history: all but designs. */
const withoutDesign = (outcome: Outcome<Size>): Outcome<Size> => (outcome.data?.design ? { error: UNSEEDED } : outcome);
const UNSEEDED = new ApiError("design only", "");

interface TableProps {
  places: string[];
  now: (Answers | undefined)[];
  before: (Answers | undefined)[] | undefined;
  sizes: Outcome<Size>[];
  errors: (Error | undefined)[];
  healthy: boolean;
  /** Whether some numbers are still loading. */
  waiting: boolean;
}

function Table({ places, now, before, sizes, errors, healthy, waiting }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="card flush scroll compare" aria-label="Comparison" aria-busy={waiting} tabIndex={0}>
      <table class="full">
        <thead>
          <tr>
            <td class="quiet">{places.length > 1 && "× relative to the first"}</td>
            {places.map((place, index) => (
              <th key={place} scope="col">
                <Head
                  place={place}
                  size={sizes[index]?.data}
                  error={errors[index]}
                  healthy={healthy}
                  remove={() => comparePlaces(places.filter((other) => other !== place))}
                />
              </th>
            ))}
          </tr>
        </thead>
        {GROUPS.map(([group, metrics]) => (
          <tbody key={group}>
            <tr class="group">
              <th scope="colgroup" colSpan={places.length + 1}>
                {group}
              </th>
            </tr>
            {metrics.map((metric) => (
              <Row key={metric.name} metric={metric} places={places} now={now} before={before} errors={errors} />
            ))}
          </tbody>
        ))}
      </table>
    </section>
  );
}

interface HeadProps {
  place: string;
  size: Size | undefined;
  error: Error | undefined;
  healthy: boolean;
  remove: () => void;
}

function Head({ place, size, error, healthy, remove }: HeadProps) {
  const unhealthy = size ? unhealthyCounts(size) : [];
  const what = size?.resolve;
  return (
    <>
      {size && <Thumbnail size={size} />}
      <span class="place">
        {size?.design ? <span>{place}</span> : <a href={href("at", place)}>{place}</a>}
        <button type="button" class="plain" aria-label={`Remove ${place}`} onClick={remove}>
          ✕
        </button>
      </span>
      <span class="quiet">
        {what && ("model" in what ? what.model : "system" in what ? what.system : what.__typename)}
      </span>
      {size?.design && (
        <span class="quiet">
          design only, not seeded: <code>trninv seed {size.design}</code>
        </span>
      )}
      {size && !size.design && (
        <span class="states">
          {unhealthy.length ? (
            <Counts counts={unhealthy} />
          ) : (
            <State state="up">{healthy ? "all up, as seeded" : "all up"}</State>
          )}
        </span>
      )}
      {error && <span class="less">{error.message}</span>}
    </>
  );
}

interface RowProps {
  metric: Metric;
  places: string[];
  now: (Answers | undefined)[];
  before: (Answers | undefined)[] | undefined;
  errors: (Error | undefined)[];
}

const read = (metric: Metric, answers: Answers | undefined) => answers && metric.read(answers);

/** Chips of both halves: bisections of different sizes don't compare. */
const bisectedChips = (answers: Answers | undefined) =>
  answers?.wired && answers.wired.bisection.sideA + answers.wired.bisection.sideB;

function Row({ metric, places, now, before, errors }: RowProps) {
  const values = now.map((answers) => read(metric, answers));
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  const leading = best(values, metric.better);
  return (
    <tr>
      <th scope="row">
        {metric.name} <span class="quiet">{metric.description}</span>
      </th>
      {places.map((place, index) => {
        const [value, first] = [values[index], values[0]];
        const earlier = before && read(metric, before[index]);
        const [chips, then] = [bisectedChips(now[index]), bisectedChips(before?.[index])];
        const differs = metric.halves && chips !== undefined && then !== undefined && chips !== then;
        if (value === undefined || value === null)
          return (
            <td key={place} class="quiet">
              {now[index]?.size.design ? (
                <Unseeded system={now[index].size.design} />
              ) : value === null || errors[index] ? (
                "unknown"
              ) : (
                "…"
              )}
            </td>
          );
        return (
          <td key={place}>
            <span class="value">
              {leading.has(index) && <span class="leads" aria-hidden="true" />}
              {earlier === undefined || earlier === null ? (
                <span class={leading.has(index) ? "best" : ""}>{number(value)}</span>
              ) : (
                <Change now={number(value)} before={number(earlier)} />
              )}{" "}
              <span class="quiet">{metric.unit}</span>
              {leading.has(index) && <span class="unseen">best</span>}
              {differs ? (
                <span class="note">
                  not comparable: {number(then)} chips before, {number(chips)} now
                </span>
              ) : (
                earlier !== undefined &&
                earlier !== null &&
                earlier !== value && <Share before={earlier} after={value} better={metric.better} />
              )}
              {index > 0 && typeof first === "number" && first > 0 && (
                <span class="times">× {(value / first).toFixed(2)}</span>
              )}
            </span>
            <span class="track" aria-hidden="true">
              <span style={{ width: `${most ? (100 * value) / most : 0}%` }} />
            </span>
          </td>
        );
      })}
    </tr>
  );
}

/** The note on a number that needs wiring, which a design gets when it is seeded. */
const Unseeded = ({ system }: { system: string }) => (
  <span title={`Run trninv seed ${system} to compute this from its wiring`}>
    <span aria-hidden="true">—</span>
    <span class="unseen">known after seeding</span>
  </span>
);

function Share({ before, after, better }: { before: number; after: number; better: Metric["better"] }) {
  if (!before) return null;
  const worse = better && (better === "more" ? after < before : after > before);
  return <span class={worse ? "less" : "quiet"}>{formatDifference(before, after)}</span>;
}
