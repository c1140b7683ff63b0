// Consequences of an incident: links that carry nothing, chips still reached, and affected or slower jobs.
import { graphql, makeQuery, useQuery } from "../api";
import { countKinds } from "../kinds";
import { href } from "../route";
import { Counts, Glyph } from "../state";
import { number, pluralize, shortenAddress } from "../words";
import type { Incident } from "./documents";
import type { ImpactAnswer } from "./impact";

const THERE = graphql(`
  query JobsThere($scope: Address!) { jobs(scope: $scope, first: 4) { totalCount nodes { name system externalId } } }
`);

const CAUSES = 4;

export function Consequences({ incident, costs }: { incident: Incident; costs: ImpactAnswer | undefined }) {
  const sum = incident.parts.reduce((total, { count }) => total + count, 0);
  return (
    <ul class="tree">
      {incident.causes.slice(0, CAUSES).map((cause) => (
        <li key={cause}>
          <a href={href("at", cause)}>{shortenAddress(cause)}</a> <span class="quiet">root cause</span>
        </li>
      ))}
      <MoreCauses
        rest={incident.causes.slice(CAUSES)}
        count={incident.causeCount - Math.min(CAUSES, incident.causes.length)}
      />
      {sum > incident.causeCount && (
        <li class="follows states">
          <Counts counts={incident.parts} />
        </li>
      )}
      {incident.independentFailures > 0 && (
        <li class="follows">
          {pluralize(incident.independentFailures, "part")} unhealthy for other reasons. Restoring the causes does not
          fix them.
        </li>
      )}
      {costs?.domains.map((cost) => (
        <Idle key={cost.domain} domain={cost.domain} links={cost.idleLinksNow - cost.idleLinksBefore} />
      ))}
      {costs?.domains.map((cost) => (
        <li class="follows" key={cost.domain}>
          <Glyph state="up" />
          <span>
            <strong>{number(cost.chipsNow)}</strong> of {pluralize(cost.chipsBefore, "chip")} still reachable{" "}
            <span class="quiet">
              in <a href={href("domain", cost.domain)}>{cost.domain}</a>
            </span>
          </span>
        </li>
      ))}
      {costs && <AffectedJobs costs={costs} />}
      {costs?.domains.filter(isSlower).map((cost) => (
        <Slower key={cost.domain} domain={cost.domain} affected={costs.jobs} />
      ))}
    </ul>
  );
}

/** How many more causes there are, and of which kinds as far as they are listed: 12 more: 8 chips, 4 links. */
export function MoreCauses({ rest, count }: { rest: string[]; count: number }) {
  if (count <= 0) return null;
  return (
    <li class="quiet">
      {pluralize(count, "more cause")}
      {rest.length === count && `: ${countKinds(rest)}`}
    </li>
  );
}

function Idle({ domain, links }: { domain: string; links: number }) {
  if (!links) return null;
  return (
    <li class="follows">
      <Glyph state="down" />
      <span>
        <strong>{pluralize(links, "link")}</strong> idle{" "}
        <span class="quiet">
          in <a href={href("domain", domain)}>{domain}</a>
        </span>
      </span>
    </li>
  );
}

type Named = { name: string; system: string; externalId: string };

const Job = ({ job: { name, system, externalId } }: { job: Named }) => (
  <a href={href("jobs", "", { sel: name })}>{name || `${system}:${externalId}`}</a>
);

function AffectedJobs({ costs: { jobCount, jobs } }: { costs: ImpactAnswer }) {
  if (!jobCount) return <li class="follows quiet">No jobs affected</li>;
  return (
    <li class="follows">
      <Glyph state="down" />
      <span>
        <strong>{pluralize(jobCount, "job")}</strong> affected
        {jobs.slice(0, CAUSES).map((job) => (
          <span key={`${job.system} ${job.externalId}`} class="quiet">
            {" "}
            <Job job={job} />: {number(job.affectedChips)} of {pluralize(job.chips, "chip")}
          </span>
        ))}
      </span>
    </li>
  );
}

const isSlower = ({
  allGatherBefore,
  allGatherNow,
  bisectionBefore,
  bisectionNow,
  incomparable,
}: ImpactAnswer["domains"][0]) =>
  allGatherNow.upper.gigabytesPerSecond < allGatherBefore.lower.gigabytesPerSecond ||
  (!incomparable && bisectionNow.upper.gigabytesPerSecond < bisectionBefore.lower.gigabytesPerSecond);

/** Jobs that lost no chip of a domain, but bandwidth between their chips. */
function Slower({ domain, affected }: { domain: string; affected: Named[] }) {
  const { data } = useQuery(makeQuery(THERE, { scope: domain }));
  const isKnown = ({ system, externalId }: Named) =>
    affected.some((job) => job.system === system && job.externalId === externalId);
  const others = data?.jobs.nodes.filter((job) => !isKnown(job)) ?? [];
  if (!others.length) return null;
  return (
    <li class="follows">
      <Glyph state="degraded" />
      <span>
        <strong>{pluralize(others.length, "job")}</strong> slower on other chips in {domain}:
        {others.map((job) => (
          <span key={`${job.system} ${job.externalId}`}>
            {" "}
            <Job job={job} />
          </span>
        ))}
      </span>
    </li>
  );
}
