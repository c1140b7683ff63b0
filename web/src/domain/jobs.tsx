// The domain's jobs: a letter for each, largest first.

import { makeQuery, useQuery } from "../api";
import type { Wiring } from "../drawing/layout";
import { type Letter, LetterBadge } from "../drawing/letter";
import { FREE } from "../jobs/documents";
import { href } from "../route";
import { pluralize } from "../words";

/** Letters by the name of a job, or by the address of a chip. */
export type Letters = Map<string, Letter>;

/** A job, its letter and its number of chips. */
interface JobLetter {
  job: string;
  letter: Letter | undefined;
  chips: number;
}

function jobsOf({ parts }: Wiring, letters: Letters): JobLetter[] {
  const counts = new Map<string, number>();
  for (const { job } of parts) if (job) counts.set(job, (counts.get(job) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  return sorted.map(([job, chips]) => ({ job, chips, letter: letters.get(job) }));
}

/** The letter of each allocated chip. */
export const lettersOfChips = (wiring: Wiring, letters: Letters): Letters =>
  new Map(
    wiring.parts.flatMap(({ address, job }) => {
      const letter = job && letters.get(job);
      return letter ? [[address, letter]] : [];
    }),
  );

export function Jobs({ wiring, letters }: { wiring: Wiring; letters: Letters }) {
  const jobs = jobsOf(wiring, letters);
  const capacity = useQuery(makeQuery(FREE, { scope: wiring.domain })).data?.free;
  return (
    <section class="card flush" aria-label="Jobs">
      <h2>
        {jobs.length ? pluralize(jobs.length, "job") : "No jobs"}{" "}
        <span class="quiet">
          {capacity && pluralize(capacity.free, "free chip")}
          {capacity?.reserved ? `, ${capacity.reserved} reserved` : ""}
        </span>
      </h2>
      <ul class="rows tight">
        {jobs.map(({ job, chips: holds, letter }) => (
          <li key={job}>
            <a href={href("jobs", "", { in: wiring.domain, sel: job })}>
              {letter ? <LetterBadge letter={letter} /> : <span />}
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
