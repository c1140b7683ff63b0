// The jobs that an incident hits.
import { JobLinks } from "../parts";
import { href } from "../route";
import { number, pluralize } from "../words";
import type { Incident } from "./documents";
import type { ImpactAnswer } from "./impact";

/** Jobs that are named. */
const NAMED = 3;

interface Props {
  incident: Pick<Incident, "jobs" | "jobCount" | "causes" | "causeCount">;
  costs: ImpactAnswer | undefined;
  /** Whether it is over, so that there is nothing to do for them. */
  isPast: boolean;
}

export function HitJobs({ incident, costs, isPast }: Props) {
  const { jobs, jobCount } = incident;
  const cause = !isPast && jobCount > 0 && incident.causeCount === 1 && incident.causes[0];
  return (
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
  );
}
