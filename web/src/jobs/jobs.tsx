// The Jobs page: allocations, reservations, placements for the next job, and plans to move jobs or drain a place.
import { useState } from "preact/hooks";
import { makeQuery, type Result, useQuery } from "../api";
import type { Letter } from "../drawing/letter";
import { CopyQueries, Loading } from "../parts";
import { change } from "../route";
import "../style/jobs.css";
import { number, pluralize } from "../words";
import { FREE, JOBS, SCOPES } from "./documents";
import { JobMap } from "./map";
import { Placements } from "./placements";
import { DrainImpact } from "./plans";
import { Reservations } from "./reservations";
import { JobTable, SelectedJob } from "./table";

type Jobs = Result<typeof JOBS>["jobs"];
type Cluster = Result<(typeof SCOPES)["document"]>["clusters"]["nodes"][number];

export function Jobs({ options }: { options: Record<string, string> }) {
  const scope = (options.in ?? "").toLowerCase();
  const query = makeQuery(JOBS, { scope: scope || null });
  const [jobs, clusters] = [useQuery(query), useQuery(SCOPES)];
  return (
    <article>
      <header class="title">
        <h1>Jobs</h1>
        {jobs.data && <p>{pluralize(jobs.data.jobs.totalCount, "job")}</p>}
        <div class="tools">
          {clusters.data && <Scope clusters={clusters.data.clusters.nodes} scope={scope} />}
          <CopyQueries queries={[query]} />
        </div>
      </header>
      <Loading result={jobs}>
        {({ jobs: listed }) => (
          <Loading result={clusters}>
            {({ clusters: { nodes } }) => <Opened jobs={listed} clusters={nodes} scope={scope} options={options} />}
          </Loading>
        )}
      </Loading>
    </article>
  );
}

function Scope({ clusters, scope }: { clusters: Cluster[]; scope: string }) {
  const other = scope && !clusters.some(({ address }) => address === scope);
  return (
    <label>
      In{" "}
      <select
        value={scope}
        onChange={(event) => change({ in: event.currentTarget.value || undefined, sel: undefined, drain: undefined })}
      >
        <option value="">all clusters</option>
        {other && <option value={scope}>{scope}</option>}
        {clusters.map(({ address }) => (
          <option key={address} value={address}>
            {address}
          </option>
        ))}
      </select>
    </label>
  );
}

interface OpenedProps {
  jobs: Jobs;
  clusters: Cluster[];
  scope: string;
  options: Record<string, string>;
}

const domainOf = (address: string | null | undefined) => /^[^/]+\/d\d+/.exec(address ?? "")?.[0];

function Opened({ jobs, clusters, scope, options }: OpenedProps) {
  const [proposed, propose] = useState<string[]>([]);
  const sel = options.sel ?? "";
  const chosen = jobs.nodes.find(
    ({ name, system, externalId }) => sel && [name, `${system}:${externalId}`].includes(sel),
  );
  const largest = [...clusters].sort((a, b) => b.chips.totalCount - a.chips.totalCount)[0];
  const within = scope || chosen?.cluster || jobs.nodes[0]?.cluster || largest?.address;
  const domain =
    domainOf(proposed[0]) ??
    domainOf(scope) ??
    domainOf(chosen?.firstServer) ??
    domainOf(jobs.nodes.find(({ cluster }) => cluster === within)?.firstServer) ??
    clusters.find(({ address }) => address === within)?.domains.nodes[0]?.address;
  const [letters, setLetters] = useState(new Map<string, Letter>());
  const table = <JobTable jobs={jobs} sel={sel} letters={letters} options={options} />;
  if (!within) return table;
  return (
    <div class="columns">
      <div>
        {domain && <JobMap domain={domain} proposed={proposed} sel={sel} setLetters={setLetters} />}
        {table}
      </div>
      <aside aria-label="Placement">
        {chosen && <SelectedJob job={chosen} />}
        <Placements scope={within} options={options} show={propose} />
        <FreeCapacity scope={within} />
        <Reservations scope={within} />
        <DrainImpact scope={within.split("/")[0] ?? within} drain={options.drain ?? ""} />
      </aside>
    </div>
  );
}

function FreeCapacity({ scope }: { scope: string }) {
  const room = useQuery(makeQuery(FREE, { scope }));
  return (
    <section class="card" aria-label="Free capacity">
      <h2>Free capacity in {scope}</h2>
      <Loading result={room}>
        {({ free }) => (
          <dl class="figures">
            {(
              [
                ["Allocated", free.allocated],
                ["Free", free.free],
                ["Free but degraded", free.degraded],
                ["Reserved", free.reserved],
                ["Unusable", free.unusable],
                ["Unusable, on cordoned servers", free.cordoned],
                ["Largest free block", free.largestBlock],
              ] as const
            )
              .filter(([name, count]) => count || name === "Free" || name === "Allocated")
              .map(([name, count]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <strong>{number(count)}</strong> {count === 1 ? "chip" : "chips"}
                  </dd>
                </div>
              ))}
            {free.concurrentJobs
              .filter(({ jobs: fit }) => fit > 0)
              .map(({ chips, jobs: fit }) => (
                <div key={chips}>
                  <dt>Concurrent jobs of {pluralize(chips, "chip")}</dt>
                  <dd>{number(fit)}</dd>
                </div>
              ))}
          </dl>
        )}
      </Loading>
    </section>
  );
}
