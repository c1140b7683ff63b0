// What follows from an incident's causes: links that carry nothing, chips still reached, jobs with less or slower.
import { asking, graphql, useAsked } from "../api";
import { href } from "../route";
import { Counts, Glyph } from "../state";
import { counted, number, shortened } from "../words";
import type { Incident } from "./documents";
import type { Costs } from "./impact";

const THERE = graphql(`
  query JobsThere($scope: Address!) { jobs(scope: $scope, first: 4) { totalCount nodes { name system externalId } } }
`);

const CAUSES = 4;

export function Follows({ of, costs }: { of: Incident; costs: Costs | undefined }) {
  const sum = of.parts.reduce((total, { count }) => total + count, 0);
  const more = of.causeCount - Math.min(CAUSES, of.causes.length);
  return (
    <ul class="tree">
      {of.causes.slice(0, CAUSES).map((cause) => (
        <li key={cause}>
          <a href={href("at", cause)}>{shortened(cause)}</a> <span class="quiet">root cause</span>
        </li>
      ))}
      {more > 0 && <li class="quiet">and {counted(more, "more cause")}</li>}
      {sum > of.causeCount && (
        <li class="follows states">
          <Counts of={of.parts} />
        </li>
      )}
      {of.independentFailures > 0 && (
        <li class="follows">
          {counted(of.independentFailures, "part")} unhealthy for other reasons. Restoring the causes does not fix them.
        </li>
      )}
      {costs?.domains.map((each) => (
        <Idle key={each.domain} domain={each.domain} links={each.idleLinksNow - each.idleLinksBefore} />
      ))}
      {costs?.domains.map((each) => (
        <li class="follows" key={each.domain}>
          <Glyph state="up" />
          <span>
            <strong>{number(each.chipsNow)}</strong> of {counted(each.chipsBefore, "chip")} still reachable{" "}
            <span class="quiet">
              in <a href={href("domain", each.domain)}>{each.domain}</a>
            </span>
          </span>
        </li>
      ))}
      {costs && <Touched of={costs} />}
      {costs?.domains.filter(isSlower).map((each) => (
        <Slower key={each.domain} domain={each.domain} known={costs.jobs} />
      ))}
    </ul>
  );
}

function Idle({ domain, links }: { domain: string; links: number }) {
  if (!links) return null;
  return (
    <li class="follows">
      <Glyph state="down" />
      <span>
        <strong>{counted(links, "link")}</strong> idle{" "}
        <span class="quiet">
          in <a href={href("domain", domain)}>{domain}</a>
        </span>
      </span>
    </li>
  );
}

type Named = { name: string; system: string; externalId: string };

const Job = ({ of: { name, system, externalId } }: { of: Named }) => (
  <a href={href("jobs", "", { sel: name })}>{name || `${system}:${externalId}`}</a>
);

function Touched({ of: { jobCount, jobs } }: { of: Costs }) {
  if (!jobCount) return <li class="follows quiet">No jobs affected</li>;
  return (
    <li class="follows">
      <Glyph state="down" />
      <span>
        <strong>{counted(jobCount, "job")}</strong> affected
        {jobs.slice(0, CAUSES).map((job) => (
          <span key={`${job.system} ${job.externalId}`} class="quiet">
            {" "}
            <Job of={job} />: {number(job.affectedChips)} of {counted(job.chips, "chip")}
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
}: Costs["domains"][0]) =>
  allGatherNow.upper.gigabytesPerSecond < allGatherBefore.lower.gigabytesPerSecond ||
  (!incomparable && bisectionNow.upper.gigabytesPerSecond < bisectionBefore.lower.gigabytesPerSecond);

/** Jobs of a domain that lost none of its chips, but bandwidth between them. */
function Slower({ domain, known }: { domain: string; known: Named[] }) {
  const { data } = useAsked(asking(THERE, { scope: domain }));
  const isKnown = ({ system, externalId }: Named) =>
    known.some((each) => each.system === system && each.externalId === externalId);
  const others = data?.jobs.nodes.filter((job) => !isKnown(job)) ?? [];
  if (!others.length) return null;
  return (
    <li class="follows">
      <Glyph state="degraded" />
      <span>
        <strong>{counted(others.length, "job")}</strong> slower on other chips in {domain}:
        {others.map((job) => (
          <span key={`${job.system} ${job.externalId}`}>
            {" "}
            <Job of={job} />
          </span>
        ))}
      </span>
    </li>
  );
}
