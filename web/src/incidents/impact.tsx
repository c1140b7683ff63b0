// What an incident costs: before and after it.
import { ApiError, asking, graphql, type Loaded, type Result, useAsked } from "../api";
import { Change, Shown } from "../parts";
import { href } from "../route";
import { counted, differs, gibibytes, number } from "../words";

const IMPACT = graphql(`
  query Impact($after: String) {
    incidents(first: 1, after: $after) {
      nodes {
        id
        impact {
          chips cores jobCount domainCount truncated
          memory { gibibytes }
          jobs { name system externalId chips affectedChips }
          domains {
            domain chipsBefore chipsNow idleLinksBefore idleLinksNow incomparable
            poolBefore { gibibytes }
            poolNow { gibibytes }
            bisectionBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
            bisectionNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
            allGatherBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
            allGatherNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
          }
        }
      }
    }
  }
`);

export type Costs = Result<typeof IMPACT>["incidents"]["nodes"][number]["impact"];

/** The impact of the incident that comes after a place in the list. */
export function useCosts(of: string, after: string | null): Loaded<Costs> {
  const found = useAsked(asking(IMPACT, { after }));
  const node = found.data?.incidents.nodes[0];
  if (!found.data || node?.id === of) return { ...found, data: node?.impact };
  return { ...found, data: undefined, error: new ApiError("The list of incidents has changed.", "") };
}

export function Cost({ of }: { of: Loaded<Costs> }) {
  return (
    <div class="inner">
      <h3>Impact, before → after</h3>
      <Shown of={of}>{(impact) => <Impact of={impact} />}</Shown>
    </div>
  );
}

interface Bounds {
  lower: { gigabytesPerSecond: number };
  upper: { gigabytesPerSecond: number };
  exact: boolean;
}

const bounds = ({ lower, upper, exact }: Bounds) =>
  `${exact ? "" : `${number(lower.gigabytesPerSecond)} to `}${number(upper.gigabytesPerSecond)} GB/s`;

function Metric({
  name,
  was,
  is,
  note,
  less,
}: {
  name: string;
  was: string;
  is: string;
  note?: string;
  less?: string;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Change now={is} before={was} /> <span class={less?.startsWith("−") ? "less" : "quiet"}>{note ?? less}</span>
      </dd>
    </div>
  );
}

function Impact({ of }: { of: Costs }) {
  return (
    <>
      <p>
        {of.chips
          ? `${counted(of.chips, "chip")} out of service: ${counted(of.cores, "core")}, ${gibibytes(of.memory)}.`
          : "All chips still work."}
      </p>
      {of.domains.map((each) => {
        const [pool, poolNow] = [each.poolBefore.gibibytes, each.poolNow.gibibytes];
        const [wide, wideNow] = [each.bisectionBefore, each.bisectionNow];
        const [gather, gatherNow] = [each.allGatherBefore, each.allGatherNow];
        const other = each.incomparable ? { note: `not comparable: ${each.incomparable}` } : {};
        return (
          <section key={each.domain} aria-label={each.domain}>
            <h4>
              <a href={href("domain", each.domain)}>{each.domain}</a>
            </h4>
            <dl class="figures">
              <Metric
                name="Working chips"
                was={number(each.chipsBefore)}
                is={number(each.chipsNow)}
                less={differs(each.chipsBefore, each.chipsNow)}
              />
              <Metric
                name="Idle links"
                was={number(each.idleLinksBefore)}
                is={number(each.idleLinksNow)}
                note={differs(each.idleLinksBefore, each.idleLinksNow)}
              />
              <Metric
                name="Largest reachable HBM"
                was={gibibytes(each.poolBefore)}
                is={gibibytes(each.poolNow)}
                less={differs(pool, poolNow)}
              />
              <Metric
                name="Bisection"
                was={bounds(wide)}
                is={bounds(wideNow)}
                less={differs(wide.upper.gigabytesPerSecond, wideNow.upper.gigabytesPerSecond)}
                {...other}
              />
              <Metric
                name="All-gather, at most"
                was={bounds(gather)}
                is={bounds(gatherNow)}
                less={differs(gather.upper.gigabytesPerSecond, gatherNow.upper.gigabytesPerSecond)}
              />
            </dl>
          </section>
        );
      })}
      {of.domainCount > of.domains.length && (
        <p class="quiet">and {counted(of.domainCount - of.domains.length, "more domain")}</p>
      )}
    </>
  );
}
