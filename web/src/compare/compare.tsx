// Two to four places side by side: as they are, as they were made, or now against an earlier time.
import { useEffect, useMemo } from "preact/hooks";
import { ApiError } from "../api";
import { useTurn } from "../live";
import { Change, Choice, Copy, Shown } from "../parts";
import { change, href, oneOf } from "../route";
import { Counts, now, Told as State } from "../state";
import "../style/compare.css";
import { counted, differs, number } from "../words";
import { keep, placesOf } from "./collect";
import { askedOf, HEALTHY, type Size, type Told, useSizes, useWired, type Wired, wornOf } from "./documents";
import { Add, compare, Earlier } from "./forms";
import { Little } from "./little";
import { type Answers, best, GROUPS, type Metric } from "./metrics";

// biome-ignore lint/suspicious/noThenProperty: an option of the address, never awaited
const AS = { now: "Now", healthy: "When healthy", then: "Now and earlier" };

export function Compare({ options }: { options: Record<string, string> }) {
  const of = placesOf(options.of);
  const as = oneOf(AS, options.as, "now");
  const { asof, epoch } = useTurn();
  useEffect(() => {
    if (of.length) keep(of);
  }, [options.of]);
  return (
    <article>
      <header class="title">
        <h1>Compare</h1>
        {of.length > 0 && <p>{counted(of.length, "place")}</p>}
        <div class="tools">
          <Choice
            name="Show"
            of={AS}
            chosen={as}
            choose={(value) => change({ as: value === "now" ? undefined : value, since: undefined })}
          />
          <Copy asked={askedOf(of)} />
        </div>
      </header>
      <Add of={of} />
      {of.length > 0 && (
        <Columns key={`${of} ${as} ${options.since} ${asof} ${epoch}`} of={of} as={as} since={options.since} />
      )}
    </article>
  );
}

interface ColumnsProps {
  of: string[];
  as: keyof typeof AS;
  since: string | undefined;
}

const HOUR = 3_600_000;

function Columns({ of, as, since }: ColumnsProps) {
  const { asof } = useTurn();
  const earlier = useMemo(() => since ?? new Date(now(asof) - HOUR).toISOString().replace(/\.\d+/, ""), [since, asof]);
  const at = as === "healthy" ? HEALTHY : undefined;
  const past = as === "then" ? of : [];
  const [sizes, before] = [useSizes(of, at), useSizes(past, earlier)];
  const [wired, wiredBefore] = [useWired(of, sizes.data, at), useWired(past, before.data, earlier)];
  return (
    <>
      {as === "then" && <Earlier time={earlier} />}
      <Shown of={sizes}>
        {(found) =>
          found.length === of.length ? (
            <Table
              of={of}
              now={answersOf(found, wired.data)}
              before={as === "then" ? answersOf(before.data?.map(seeded), wiredBefore.data) : undefined}
              sizes={found}
              errors={found.map(
                (each, index) => each.error ?? wired.data?.[index]?.error ?? before.data?.[index]?.error,
              )}
              healthy={as === "healthy"}
              waiting={!wired.data || (as === "then" && !wiredBefore.data)}
            />
          ) : null
        }
      </Shown>
      <p class="quiet">
        ▲ marks the best value in a row. × is relative to the first place. Bandwidths are in one direction.
        {as === "healthy" && " Shown as seeded, with every part up."}
      </p>
    </>
  );
}

const answersOf = (
  sizes: Told<Size>[] | undefined,
  wired: (Told<Wired> | undefined)[] | undefined,
): (Answers | undefined)[] =>
  (sizes ?? []).map(({ data }, index) => data && { size: data, wired: wired?.[index]?.data });

/** Without what is design only, which has no past. */
const seeded = (told: Told<Size>): Told<Size> => (told.data?.design ? { error: UNSEEDED } : told);
const UNSEEDED = new ApiError("design only", "");

interface TableProps {
  of: string[];
  now: (Answers | undefined)[];
  before: (Answers | undefined)[] | undefined;
  sizes: Told<Size>[];
  errors: (Error | undefined)[];
  healthy: boolean;
  /** Whether more numbers are to come. */
  waiting: boolean;
}

function Table({ of, now, before, sizes, errors, healthy, waiting }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="card flush scroll compare" aria-label="Comparison" aria-busy={waiting} tabIndex={0}>
      <table class="full">
        <thead>
          <tr>
            <td class="quiet">{of.length > 1 && "× relative to the first"}</td>
            {of.map((place, at) => (
              <th key={place} scope="col">
                <Head
                  place={place}
                  size={sizes[at]?.data}
                  error={errors[at]}
                  healthy={healthy}
                  remove={() => compare(of.filter((each) => each !== place))}
                />
              </th>
            ))}
          </tr>
        </thead>
        {GROUPS.map(([group, metrics]) => (
          <tbody key={group}>
            <tr class="group">
              <th scope="colgroup" colSpan={of.length + 1}>
                {group}
              </th>
            </tr>
            {metrics.map((metric) => (
              <Row key={metric.name} metric={metric} of={of} now={now} before={before} errors={errors} />
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
  const worn = size ? wornOf(size) : [];
  const what = size?.resolve;
  return (
    <>
      {size && <Little size={size} />}
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
          {worn.length ? <Counts of={worn} /> : <State state="up">{healthy ? "all up, as seeded" : "all up"}</State>}
        </span>
      )}
      {error && <span class="less">{error.message}</span>}
    </>
  );
}

interface RowProps {
  metric: Metric;
  of: string[];
  now: (Answers | undefined)[];
  before: (Answers | undefined)[] | undefined;
  errors: (Error | undefined)[];
}

const read = (metric: Metric, answers: Answers | undefined) => answers && metric.of(answers);

/** Chips of both halves: two bisections of other sizes don't compare. */
const halved = (answers: Answers | undefined) =>
  answers?.wired && answers.wired.bisection.sideA + answers.wired.bisection.sideB;

function Row({ metric, of, now, before, errors }: RowProps) {
  const values = now.map((answers) => read(metric, answers));
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  const leading = best(values, metric.better);
  return (
    <tr>
      <th scope="row">
        {metric.name} <span class="quiet">{metric.says}</span>
      </th>
      {of.map((place, at) => {
        const [value, first] = [values[at], values[0]];
        const was = before && read(metric, before[at]);
        const [chips, then] = [halved(now[at]), halved(before?.[at])];
        const differs = metric.halves && chips !== undefined && then !== undefined && chips !== then;
        if (value === undefined || value === null)
          return (
            <td key={place} class="quiet">
              {now[at]?.size.design ? (
                <Unseeded system={now[at].size.design} />
              ) : value === null || errors[at] ? (
                "unknown"
              ) : (
                "…"
              )}
            </td>
          );
        return (
          <td key={place}>
            <span class="value">
              {leading.has(at) && <span class="leads" aria-hidden="true" />}
              {was === undefined || was === null ? (
                <span class={leading.has(at) ? "best" : ""}>{number(value)}</span>
              ) : (
                <Change now={number(value)} before={number(was)} />
              )}{" "}
              <span class="quiet">{metric.unit}</span>
              {leading.has(at) && <span class="unseen">best</span>}
              {differs ? (
                <span class="note">
                  not comparable: {number(then)} chips before, {number(chips)} now
                </span>
              ) : (
                was !== undefined &&
                was !== null &&
                was !== value && <Share was={was} is={value} better={metric.better} />
              )}
              {at > 0 && typeof first === "number" && first > 0 && (
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

/** A number that takes wiring: of a cluster, which a system is once it is seeded. */
const Unseeded = ({ system }: { system: string }) => (
  <span title={`Run trninv seed ${system} to compute this from its wiring`}>
    <span aria-hidden="true">—</span>
    <span class="unseen">known after seeding</span>
  </span>
);

function Share({ was, is, better }: { was: number; is: number; better: Metric["better"] }) {
  if (!was) return null;
  const worse = better && (better === "more" ? is < was : is > was);
  return <span class={worse ? "less" : "quiet"}>{differs(was, is)}</span>;
}
