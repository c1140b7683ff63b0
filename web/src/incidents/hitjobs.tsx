// The jobs of an incident: those that it hits, and those that it slows down.
import { JobLinks } from "../parts";
import { href } from "../route";
import { Glyph } from "../state";
import { number, pluralize } from "../words";
import type { Incident } from "./documents";
import { type ImpactAnswer, slowerJobs } from "./impact";

/** Jobs that are named. */
const NAMED = 3;

export function HitJobs({
  incident,
  costs,
}: {
  incident: Pick<Incident, "jobs" | "jobCount" | "causes" | "causeCount">;
  costs: ImpactAnswer | undefined;
}) {
  const { jobs, jobCount } = incident;
  const slower = slowerJobs(costs);
  const cause = jobCount > 0 && incident.causeCount === 1 && incident.causes[0];
  return (
    <>
      <div>
        <dt>Jobs hit</dt>
        <dd>
          {jobCount
            ? jobs.slice(0, NAMED).map((job) => {
                const chips = costs?.jobs.find(({ name }) => name === job);
                return (
                  <span key={job} class="line">
                    <JobLinks jobs={[job]} />
                    {chips && `, ${number(chips.affectedChips)} of ${pluralize(chips.chips, "chip")}`}
                  </span>
                );
              })
            : "none"}
          {cause && (
            <a class="line" href={href("jobs", "", { in: cause.split("/")[0], drain: cause })}>
              Where can {jobCount > 1 ? "they" : "it"} go?
            </a>
          )}
          {jobCount > NAMED && <span class="line">and {number(jobCount - NAMED)} more</span>}
        </dd>
      </div>
      {slower.length > 0 && (
        <div>
          <dt title="They have chips in a domain that lost bandwidth, but none in the incident">Jobs slower</dt>
          <dd>
            <Glyph state="degraded" /> <JobLinks jobs={slower.slice(0, NAMED)} />
            {slower.length > NAMED && ` and ${number(slower.length - NAMED)} more`}
          </dd>
        </div>
      )}
    </>
  );
}
