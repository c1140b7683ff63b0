// Two to four places side by side: as they are, as they were seeded, or now against an earlier time.
import { useEffect, useMemo, useState } from "preact/hooks";
import { Miniature, sizesOf } from "../fleet/miniature";
import { useAsOf } from "../live";
import { Address, Choice, CopyQueries, Failure } from "../parts";
import { change, href, oneOf } from "../route";
import { Counts, StateLabel as State, shownTime } from "../state";
import "../style/compare.css";
import "../style/tabs.css";
import { number, pluralize } from "../words";
import { type Cell, type Cells, queriesOf, useCells } from "./cells";
import { placesOf, storePlaces } from "./collection";
import { HEALTHY, type Outcome, type Size, unhealthyCounts, useSizes } from "./documents";
import { Add, comparePlaces, Earlier, GetStarted } from "./forms";
import { GROUPS, METRICS, TOTALS } from "./metrics";
import { MetricRow } from "./row";
import { SaveCsv } from "./save";

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
      {places.length > 0 ? (
        <Comparison
          key={`${places} ${as} ${options.since} ${asof} ${epoch}`}
          places={places}
          as={as}
          since={options.since}
        />
      ) : (
        <Title as={as} places={places} />
      )}
      {places.length < 2 && <GetStarted places={places} />}
    </article>
  );
}

interface TitleProps {
  places: string[];
  as: keyof typeof AS;
  children?: preact.ComponentChildren;
  tools?: preact.ComponentChildren;
}

function Title({ places, as, children, tools }: TitleProps) {
  return (
    <header class="title">
      <h1>Compare</h1>
      {children}
      <div class="tools">
        <div class="tabs">
          <Choice
            name="Show"
            options={AS}
            chosen={as}
            choose={(value) => change({ as: value === "now" ? undefined : value, since: undefined })}
          />
        </div>
        <Add places={places} />
        {tools}
      </div>
    </header>
  );
}

interface ComparisonProps {
  places: string[];
  as: keyof typeof AS;
  since: string | undefined;
}

const HOUR = 3_600_000;

function Comparison({ places, as, since }: ComparisonProps) {
  const { asof } = useAsOf();
  const earlier = useMemo(
    () => since ?? new Date(shownTime(asof) - HOUR).toISOString().replace(/\.\d+/, ""),
    [since, asof],
  );
  const at = as === "healthy" ? HEALTHY : undefined;
  const past = as === "then" ? places : [];
  const [sizes, before] = [useSizes(places, at), useSizes(past, earlier)];
  const now = useCells(places, sizes.data, at);
  const then = useCells(past, before.data, earlier);
  return (
    <>
      <Title
        places={places}
        as={as}
        tools={
          <>
            <SaveCsv places={places} cells={now} />
            <CopyQueries queries={queriesOf(places, sizes.data)} />
          </>
        }
      >
        <Progress sizes={sizes.data} cells={now} />
      </Title>
      {as === "then" && <Earlier time={earlier} />}
      {sizes.error ? (
        <Failure error={sizes.error} again={sizes.again} />
      ) : (
        <Table
          places={places}
          sizes={sizes.data}
          now={now}
          before={as === "then" ? then : undefined}
          healthy={as === "healthy"}
        />
      )}
      <p class="quiet">
        Each cell is a request of its own: it appears when it is ready, and a failure stays in its cell.
        {as === "healthy" && " Shown as seeded, with every part up."}
      </p>
    </>
  );
}

/** The state of a row: loading while a cell is, else failed if one is. */
function rowState(cells: (Cell | undefined)[]): "loading" | "failed" | "known" {
  if (cells.some((cell) => !cell || cell.is === "loading")) return "loading";
  return cells.some((cell) => cell?.is === "failed") ? "failed" : "known";
}

/** How many rows have come, said once more when all have. */
function Progress({ sizes, cells }: { sizes: Outcome<Size>[] | undefined; cells: Cells }) {
  // a place that does not exist has no cells
  const known = sizes?.flatMap(({ data }, place) => (data ? [place] : []));
  const states = METRICS.map((metric) =>
    known ? rowState(known.map((place) => cells.get(metric, place))) : "loading",
  );
  const count = (state: string) => states.filter((each) => each === state).length;
  const [loading, failed] = [count("loading"), count("failed")];
  return (
    <p class="progress">
      {loading > 0 && (
        <span class="track" aria-hidden="true">
          <span style={{ width: `${(100 * (states.length - loading)) / states.length}%` }} />
        </span>
      )}
      {/* once all have come, only for screen readers */}
      <span role="status" class={loading || failed ? undefined : "unseen"}>
        {count("known")} of {states.length} rows loaded
        {loading > 0 && `, ${loading} loading`}
        {failed > 0 && (
          <>
            , <span class="bad">{failed} failed</span>
          </>
        )}
      </span>
    </p>
  );
}

/** Seconds since the page began to load, while something loads. */
function useClock(isRunning: boolean): number {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setNow(performance.now()), 1000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now;
}

interface TableProps {
  places: string[];
  sizes: Outcome<Size>[] | undefined;
  now: Cells;
  before: Cells | undefined;
  healthy: boolean;
}

function Table({ places, sizes, now, before, healthy }: TableProps) {
  const known = places.map((_, place) => Boolean(sizes?.[place]?.data));
  const isLoading =
    !sizes ||
    METRICS.some((metric) =>
      known.some((is, place) => is && [now, before].some((cells) => cells?.get(metric, place)?.is === "loading")),
    );
  const clock = useClock(isLoading);
  return (
    <section
      class={`card flush scroll compare${places.length > 2 ? " many" : ""}`}
      aria-label="Comparison"
      aria-busy={isLoading}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
    >
      <table class="full" style={{ "--places": places.length }}>
        <thead>
          <tr>
            <td class="quiet">
              {places.length > 1 && (
                <>
                  <span class="key">1.07×: relative to the first.</span>{" "}
                  <span class="key">
                    <span class="leads" aria-hidden="true" />: the best value (none in totals).
                  </span>{" "}
                  <span class="key">≠: sources disagree.</span>
                </>
              )}
            </td>
            {places.map((place, index) => (
              <th key={place} scope="col">
                <Head
                  place={place}
                  outcome={sizes?.[index]}
                  healthy={healthy}
                  remove={() => comparePlaces(places.filter((other) => other !== place))}
                />
              </th>
            ))}
          </tr>
        </thead>
        {GROUPS.map(([title, remark, metrics], index) => (
          <tbody key={title}>
            <tr class="group">
              <th scope="colgroup" colSpan={places.length + 1}>
                <div>
                  {title} <span class="quiet">{remark}</span>
                </div>
              </th>
            </tr>
            {index > 0 && (
              // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row without a control takes no focus
              <tr class="names" aria-hidden="true">
                {places.map((place) => (
                  <td key={place}>
                    <Address text={place} />
                  </td>
                ))}
              </tr>
            )}
            {metrics.map((metric) => (
              <MetricRow
                key={metric.name}
                metric={metric}
                places={places}
                now={now}
                before={before}
                known={known}
                chips={places.map((_, place) => sizes?.[place]?.data?.chips.totalCount)}
                isReady={sizes !== undefined}
                isContest={title !== TOTALS}
                clock={clock}
              />
            ))}
          </tbody>
        ))}
      </table>
    </section>
  );
}

const shapeOf = (size: Size) => ({
  domains: size.domains.totalCount,
  sizes: sizesOf(size.domains),
  // servers are not among them: their chips have their state
  unhealthy: [size.chip, size.switch, size.link, size.nic].flatMap(({ nodes }) => [...nodes]),
});

interface HeadProps {
  place: string;
  outcome: Outcome<Size> | undefined;
  healthy: boolean;
  remove: () => void;
}

const sizeText = ({ chips, design, domains, resolve }: Size) => {
  const system = design?.slug ?? ("system" in resolve ? resolve.system : resolve.__typename);
  const what = "model" in resolve ? resolve.model : system;
  const times = domains.totalCount > 1 ? `${number(domains.totalCount)} domains, ` : "";
  return `${what}, ${times}${pluralize(chips.totalCount, "chip")}`;
};

function Head({ place, outcome, healthy, remove }: HeadProps) {
  const { data: size, error } = outcome ?? {};
  const unhealthy = size ? unhealthyCounts(size) : [];
  return (
    <div class="head">
      <div class="thumb">{size && <Miniature shape={shapeOf(size)} />}</div>
      <div>
        <span class="place">
          {size?.design ? (
            <span>{place}</span>
          ) : (
            <a href={href("at", place)}>
              <Address text={place} />
            </a>
          )}
          <button type="button" class="square" aria-label={`Remove ${place}`} title="Remove" onClick={remove}>
            ×
          </button>
        </span>
        <span class="quiet">{size ? sizeText(size) : "\u00a0"}</span>
        {size?.design ? (
          <span class="quiet">
            design only, not seeded: <code>trninv seed {size.design.slug}</code>
          </span>
        ) : (
          <span class="states">
            {size &&
              (unhealthy.length ? (
                <Counts counts={unhealthy} />
              ) : (
                <State state="up">{healthy ? "all up, as seeded" : "all up"}</State>
              ))}
          </span>
        )}
        {error && <span class="less">{error.message}</span>}
      </div>
    </div>
  );
}
