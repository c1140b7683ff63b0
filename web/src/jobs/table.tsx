// Who holds what, job by job.
import type { Result } from "../api";
import { useTurn } from "../live";
import { href } from "../route";
import { lasted, now, Told } from "../state";
import { counted, number } from "../words";
import type { JOBS } from "./documents";

type Listed = Result<typeof JOBS>["jobs"];

export function JobTable({ jobs: { totalCount, nodes }, sel }: { jobs: Listed; sel: string }) {
  const { asof } = useTurn();
  if (!nodes.length)
    return (
      <section class="card">
        <p>No job holds chips.</p>
        <p class="quiet">
          <code>trninv hold NAME PLACE…</code> holds some, <code>trninv import</code> reads those of a scheduler.
        </p>
      </section>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="card flush scroll" aria-label="Jobs" tabIndex={0}>
      <table class="full">
        <thead>
          <tr>
            <th scope="col">Job</th>
            <th scope="col">Where</th>
            <th scope="col" class="number">
              Chips
            </th>
            <th scope="col" class="number roomy">
              Servers
            </th>
            <th scope="col">Chips not up</th>
            <th scope="col" class="roomy">
              Who
            </th>
            <th scope="col" class="number roomy">
              Running for
            </th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((job) => (
            <tr key={`${job.system} ${job.externalId}`} class={job.name === sel ? "chosen" : undefined}>
              <th scope="row">
                {job.name || `${job.system}:${job.externalId}`}
                {job.pinned && <span class="quiet"> pinned</span>}
              </th>
              <td>
                <a href={job.first ? href("at", job.first) : href("cluster", job.cluster, { colour: "job" })}>
                  {job.first ?? job.cluster}
                </a>
              </td>
              <td class="number">{number(job.chips)}</td>
              <td class="number roomy">{number(job.servers)}</td>
              <td>{job.wounded ? <Told state="down">{number(job.wounded)}</Told> : "none"}</td>
              <td class="roomy">{job.who}</td>
              <td class="number roomy">{lasted(job.began, now(asof))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {totalCount > nodes.length && <p class="inner quiet">{counted(totalCount - nodes.length, "more job")}</p>}
    </section>
  );
}
