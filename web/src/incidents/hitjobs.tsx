// The jobs of an incident: those that it hits, and those that it slows down.
import { graphql, makeQuery, useQuery } from "../api";
import { isSlower } from "../part/loss";
import { JobLinks } from "../parts";
import { Glyph } from "../state";
import { number, pluralize } from "../words";
import type { Incident } from "./documents";
import type { ImpactAnswer } from "./impact";

const THERE = graphql(`
  query JobsThere($scope: Address!) { jobs(scope: $scope, first: 100) { nodes { name system externalId } } }
`);

/** Jobs that are named. */
const NAMED = 3;

export function HitJobs({ incident, costs }: { incident: Incident; costs: ImpactAnswer | undefined }) {
  const { jobs, jobCount } = incident;
  return (
    <div>
      <dt>Jobs</dt>
      <dd>
        {jobCount ? (
          jobs.slice(0, NAMED).map((job) => {
            const chips = costs?.jobs.find(({ name }) => name === job);
            return (
              <span key={job} class="line">
                <JobLinks jobs={[job]} /> hit
                {chips && `, ${number(chips.affectedChips)} of ${pluralize(chips.chips, "chip")}`}
              </span>
            );
          })
        ) : (
          <span class="line">none hit</span>
        )}
        {jobCount > NAMED && <span class="line">and {number(jobCount - NAMED)} more</span>}
        {costs?.domains.filter(isSlower).map(({ domain }) => (
          <Slower key={domain} domain={domain} hit={jobs} />
        ))}
      </dd>
    </div>
  );
}

/** Jobs that an incident does not hit, but whose chips are in a domain that lost bandwidth. */
function Slower({ domain, hit }: { domain: string; hit: readonly string[] }) {
  const { data } = useQuery(makeQuery(THERE, { scope: domain }));
  const names = (data?.jobs.nodes ?? []).map(({ name, system, externalId }) => name || `${system}:${externalId}`);
  const slower = names.filter((name) => !hit.includes(name));
  if (!slower.length) return null;
  return (
    <span class="line">
      <Glyph state="degraded" /> <JobLinks jobs={slower.slice(0, NAMED)} />
      {slower.length > NAMED && ` and ${number(slower.length - NAMED)} more`} slower
    </span>
  );
}
