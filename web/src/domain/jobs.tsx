// The domain's jobs: a letter for each, largest first.

import type { Wiring } from "../drawing/layout";
import { type Letter, LetterBadge, letterOf } from "../drawing/letter";
import { href } from "../route";
import { pluralize } from "../words";

/** A job, its letter and its number of chips. */
interface JobLetter extends Letter {
  job: string;
  chips: number;
}

function jobsOf({ parts }: Wiring): JobLetter[] {
  const counts = new Map<string, number>();
  for (const { job } of parts) if (job) counts.set(job, (counts.get(job) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  return sorted.map(([job, chips], index) => ({ job, chips, ...letterOf(index) }));
}

/** The letter of each allocated chip. */
export function lettersOf(wiring: Wiring): Map<string, Letter> {
  const letters = new Map(jobsOf(wiring).map((entry) => [entry.job, entry]));
  return new Map(
    wiring.parts.flatMap(({ address, job }) => {
      const letter = job && letters.get(job);
      return letter ? [[address, letter]] : [];
    }),
  );
}

export function Jobs({ wiring }: { wiring: Wiring }) {
  const jobs = jobsOf(wiring);
  const chips = wiring.parts.filter((part) => part.kind === "chip");
  const free = chips.filter(({ use }) => use === "free").length;
  return (
    <section class="card flush" aria-label="Jobs">
      <h2>
        {jobs.length ? pluralize(jobs.length, "job") : "No jobs"}{" "}
        <span class="quiet">{pluralize(free, "free chip")}</span>
      </h2>
      <ul class="rows tight">
        {jobs.map(({ job, chips: holds, ...letter }) => (
          <li key={job}>
            <a href={href("jobs", "", { in: wiring.domain, sel: job })}>
              <LetterBadge letter={letter} />
              <span>{job}</span>
              <span class="quiet">{pluralize(holds, "chip")}</span>
            </a>
          </li>
        ))}
      </ul>
      <p class="inner">
        <a href={href("jobs", "", { in: wiring.domain })}>Find a placement</a>
      </p>
    </section>
  );
}
