// The impact of an incident: values before and after.
import { ApiError, graphql, type Loaded, makeQuery, type Result, useQuery } from "../api";
import { CAPABILITY } from "../part/documents";
import { Change, Loading } from "../parts";
import { href } from "../route";
import { formatDifference, gibibytes, number, pluralize } from "../words";

const IMPACT = graphql(
  `
  query Impact($after: String) {
    incidents(first: 1, after: $after) {
      nodes {
        id
        impact {
          chips cores jobCount domainCount truncated
          memory { gibibytes }
          jobs { name system externalId chips affectedChips }
          domains { idleLinksBefore idleLinksNow ...Capability }
        }
      }
    }
  }
`,
  [CAPABILITY],
);

export type ImpactAnswer = Result<typeof IMPACT>["incidents"]["nodes"][number]["impact"];

/** Load the impact of the next incident in the list ahead of time. */
export function useImpact(id: string, after: string | null): Loaded<ImpactAnswer> {
  const result = useQuery(makeQuery(IMPACT, { after }));
  const node = result.data?.incidents.nodes[0];
  if (!result.data || node?.id === id) return { ...result, data: node?.impact };
  return { ...result, data: undefined, error: new ApiError("The list of incidents has changed.", "") };
}

/** Jobs with chips in a domain that lost bandwidth, but none in the incident. */
export const slowerJobs = (impact: ImpactAnswer | undefined) => [
  ...new Set(impact?.domains.flatMap(({ slowerJobs }) => slowerJobs)),
];

export function ImpactSection({ result }: { result: Loaded<ImpactAnswer> }) {
  return (
    <div class="inner impact">
      <h3>Impact, before → now</h3>
      <Loading result={result}>{(impact) => <Impact impact={impact} />}</Loading>
    </div>
  );
}

interface Bounds {
  lower: { gigabytesPerSecond: number };
  upper: { gigabytesPerSecond: number };
  exact: boolean;
}

const bounds = ({ lower, upper, exact }: Bounds) =>
  `${exact ? "" : `${number(lower.gigabytesPerSecond)} to `}${number(upper.gigabytesPerSecond)}`;

function Metric({
  name,
  before,
  after,
  note,
  less,
  unit = "",
}: {
  name: string;
  before: string;
  after: string;
  note?: string;
  less?: string;
  unit?: string;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Change now={after + unit} before={before === after ? undefined : before} />{" "}
        <span class={note ? "quiet note" : less?.startsWith("−") ? "less" : "quiet"}>{note ?? less}</span>
      </dd>
    </div>
  );
}

function Impact({ impact }: { impact: ImpactAnswer }) {
  return (
    <>
      <p>
        {impact.chips
          ? `${pluralize(impact.chips, "chip")} out of service: ${pluralize(impact.cores, "core")}, ${gibibytes(impact.memory)}.`
          : "All chips still work."}
      </p>
      {impact.domains.map((cost) => {
        const [pool, poolNow] = [cost.poolBefore.gibibytes, cost.poolNow.gibibytes];
        const [wide, wideNow] = [cost.bisectionBefore, cost.bisectionNow];
        const [gather, gatherNow] = [cost.allGatherBefore, cost.allGatherNow];
        const lost = cost.idleLinksNow > cost.idleLinksBefore;
        const same = wideNow.exact && wide.upper.gigabytesPerSecond === wideNow.upper.gigabytesPerSecond;
        const other = cost.incomparable
          ? { note: `not comparable: ${cost.incomparable}` }
          : lost && same
            ? { note: "idle links do not cross it" }
            : {};
        return (
          <section key={cost.domain} aria-label={cost.domain}>
            <h4>
              <a href={href("domain", cost.domain)}>{cost.domain}</a>
            </h4>
            <dl class="figures">
              <Metric
                name="Working chips"
                before={number(cost.chipsBefore)}
                after={number(cost.chipsNow)}
                less={formatDifference(cost.chipsBefore, cost.chipsNow)}
              />
              <Metric
                name="Idle links"
                before={number(cost.idleLinksBefore)}
                after={number(cost.idleLinksNow)}
                less={formatDifference(cost.idleLinksBefore, cost.idleLinksNow)}
              />
              <Metric
                name="Largest memory pool"
                before={gibibytes(cost.poolBefore)}
                after={gibibytes(cost.poolNow)}
                less={formatDifference(pool, poolNow)}
              />
              <Metric
                name="Bisection bandwidth"
                before={bounds(wide)}
                after={bounds(wideNow)}
                unit=" GB/s"
                less={formatDifference(wide.upper.gigabytesPerSecond, wideNow.upper.gigabytesPerSecond)}
                {...other}
              />
              <Metric
                name="All-gather limit"
                before={bounds(gather)}
                after={bounds(gatherNow)}
                unit=" GB/s"
                less={formatDifference(gather.upper.gigabytesPerSecond, gatherNow.upper.gigabytesPerSecond)}
              />
            </dl>
          </section>
        );
      })}
      {impact.domainCount > impact.domains.length && (
        <p class="quiet">and {pluralize(impact.domainCount - impact.domains.length, "more domain")}</p>
      )}
    </>
  );
}
