// The impact of an incident: values before and after.
import { ApiError, graphql, type Loaded, makeQuery, type Result, useQuery } from "../api";
import { CAPABILITY } from "../part/documents";
import { Losses } from "../part/loss";
import { Loading } from "../parts";
import { href } from "../route";
import { gibibytes, pluralize } from "../words";

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
          domains { ...Capability }
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

export function ImpactSection({ result }: { result: Loaded<ImpactAnswer> }) {
  return (
    <div class="inner impact">
      <h3>
        What it costs <span class="quiet">before → now</span>
      </h3>
      <Loading result={result}>{(impact) => <Impact impact={impact} />}</Loading>
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
      {impact.domains.map((loss) => (
        <section key={loss.domain} class="loss" aria-label={loss.domain}>
          <h4>
            <a href={href("domain", loss.domain)}>{loss.domain}</a>
          </h4>
          <Losses loss={loss} />
        </section>
      ))}
      {impact.domainCount > impact.domains.length && (
        <p class="quiet">and {pluralize(impact.domainCount - impact.domains.length, "more domain")}</p>
      )}
    </>
  );
}
