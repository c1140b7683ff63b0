// The Jobs page: who has which chips, placements for the next job, reservations, and plans to move jobs or drain a place.
import { Fragment } from "preact";
import { useMemo, useState } from "preact/hooks";
import { type Loaded, makeQuery, type Result, runQuery, useLoaded, useQuery } from "../api";
import { jobColors, letterOf } from "../drawing/letter";
import { type Cause, causesOf } from "../fleet/spots";
import { Seed } from "../health";
import { lazyView } from "../lazy";
import { CopyQueries, Failure, Loading } from "../parts";
import { change } from "../route";
import { StateLabel, stateWord, Warning } from "../state";
import "../style/jobs.css";
import { number, pluralize } from "../words";
import { type Effect, effectsOn } from "./affected";
import {
  busiestFirst,
  type ClusterChips,
  lettersIn,
  mixedIn,
  placesByJob,
  placeUse,
  useClusterChips,
} from "./allocated";
import { FREE, JOBS, SCOPES } from "./documents";
import { ClusterJobs, DomainJobs, Legend, type Proposal } from "./map";
import { ChooseDomain, Placements } from "./placements";
import { JobTable, nameOf, SelectedJob } from "./table";

const Reservations = lazyView(async () => (await import("./reservations")).Reservations);
const DrainImpact = lazyView(async () => (await import("./plans")).DrainImpact);

type Jobs = Result<typeof JOBS>["jobs"];
type Cluster = Result<(typeof SCOPES)["document"]>["clusters"]["nodes"][number];
type Free = Result<typeof FREE>["free"];

const CAUSES = causesOf(null);

/** The most clusters of which all domains are drawn, and in which a place is looked for; the largest ones. */
const MOST_CLUSTERS = 12;

export function Jobs({ options }: { options: Record<string, string> }) {
  const scope = (options.in ?? "").toLowerCase();
  const query = makeQuery(JOBS, { scope: scope || null });
  const [jobs, clusters] = [useQuery(query), useQuery(SCOPES)];
  const scopes = scope
    ? [scope]
    : [...(clusters.data?.clusters.nodes ?? [])]
        .sort((a, b) => b.chips.totalCount - a.chips.totalCount)
        .slice(0, MOST_CLUSTERS)
        .map(({ address }) => address);
  const isPart = (clusters.data?.clusters.nodes.length ?? 0) > MOST_CLUSTERS;
  const clusterNames = useMemo(() => [...new Set(scopes.map((each) => each.split("/")[0] ?? ""))], [scopes.join()]);
  const chips = useClusterChips(clusterNames);
  const causes = useQuery(CAUSES);
  const places = useMemo(
    () => new Map((chips.data ?? []).flatMap((cluster) => [...placesByJob(cluster)])),
    [chips.data],
  );
  const effects = useMemo(
    () =>
      jobs.data && (causes.data || causes.error) && (chips.data || chips.error)
        ? effectsOn(
            jobs.data.jobs.nodes.map((job) => ({ name: nameOf(job), failedChips: job.failedChips })),
            causes.data?.incidents.nodes ?? [],
            chips.data ?? [],
          )
        : undefined,
    [jobs.data, causes.data, causes.error, chips.data, chips.error],
  );
  const title = scope || (isPart ? `the ${MOST_CLUSTERS} largest clusters` : "all clusters");
  const isEmpty = clusters.data?.clusters.nodes.length === 0;
  return (
    <article class="jobs">
      <header class="title">
        <h1>Jobs</h1>
        <p>{jobs.data && summarize(jobs.data.jobs, scope)}</p>
        {!isEmpty && <Affected hit={effects} />}
        <div class="tools">
          <Scope clusters={clusters.data?.clusters.nodes ?? []} scope={scope} />
          <CopyQueries queries={[query]} />
        </div>
      </header>
      {clusters.error && <Failure error={clusters.error} again={clusters.again} />}
      {isEmpty ? (
        <Seed />
      ) : (
        <Page
          {...{ scope, scopes, title, jobs, chips, effects, places, options }}
          causes={causes.data?.incidents.nodes ?? NO_CAUSES}
        />
      )}
    </article>
  );
}

const summarize = ({ totalCount }: Jobs, scope: string) =>
  `${pluralize(totalCount, "job")} in ${scope || "all clusters"}`;

/** How many jobs incidents hit, as the Fleet and Incidents pages count them. */
function Affected({ hit }: { hit: Map<string, Effect> | undefined }) {
  if (!hit) return <span class="state-label to-come">…</span>;
  if (!hit.size) return <StateLabel state="up">no job hit</StateLabel>;
  const isDown = [...hit.values()].some(({ state }) => state === "down");
  return <Warning state={isDown ? "down" : "degraded"}>{pluralize(hit.size, "job")} hit</Warning>;
}

function Scope({ clusters, scope }: { clusters: Cluster[]; scope: string }) {
  const other = scope && !clusters.some(({ address }) => address === scope);
  return (
    <label>
      Cluster{" "}
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

interface PageProps {
  scope: string;
  /** The scope, or all clusters. */
  scopes: string[];
  /** The scopes in words. */
  title: string;
  jobs: ReturnType<typeof useQuery<typeof JOBS>>;
  chips: ReturnType<typeof useClusterChips>;
  causes: Cause[];
  /** By the names of affected jobs; undefined: not known yet. */
  effects: Map<string, Effect> | undefined;
  /** Domains and servers by the names of jobs. */
  places: Map<string, string[]>;
  options: Record<string, string>;
}

const domainOf = (address: string) => /^[^/]+\/d\d+/.exec(address)?.[0];

function Page({ scope, scopes, title, jobs, chips, causes, effects, places, options }: PageProps) {
  const [proposal, propose] = useState<Proposal>({ places: [] });
  const [drawn, setDrawn] = useState("");
  const sel = options.sel ?? "";
  const domain = domainOf(scope);
  const free = useFree(scopes);
  const letters = useMemo(() => lettersIn(chips.data ?? []), [chips.data]);
  const chosen = jobs.data?.jobs.nodes.find(
    ({ name, system, externalId }) => sel && [name, `${system}:${externalId}`].includes(sel),
  );
  // what comes below the list, and below a picture, appears once its height is known
  const isListed = Boolean(effects || jobs.error);
  const isDrawn = isListed && (!domain || drawn === domain || Boolean(chips.error));
  return (
    <>
      <div class={isListed ? "columns" : "columns undrawn"}>
        <div aria-busy={!isListed}>
          {!free.error && (
            <section class="card flush" aria-label={`Chips of ${title}`}>
              <Capacity
                scopes={scopes}
                all={free.data ?? NO_FREE}
                clusters={chips.data ?? NO_CHIPS}
                isKnown={Boolean(chips.data || chips.error)}
              />
            </section>
          )}
          {isListed && (
            <>
              <div class="list">
                <Loading result={jobs}>
                  {({ jobs: listed }) => (
                    <JobTable
                      jobs={listed}
                      effects={effects ?? NO_EFFECTS}
                      {...{ sel, letters, places, options }}
                      cluster={scope.split("/")[0] ?? ""}
                    />
                  )}
                </Loading>
              </div>
              <section class="card flush map" aria-label={`Allocations in ${title}`}>
                {domain ? (
                  <DomainJobs domain={domain} proposed={proposal.places} sel={sel} onDrawn={() => setDrawn(domain)} />
                ) : (
                  <>
                    {chips.error && !chips.data && <Failure error={chips.error} again={chips.again} />}
                    {busiestFirst(chips.data ?? []).map((cluster) => (
                      <ClusterJobs
                        key={cluster.overview.cluster}
                        cluster={cluster}
                        causes={causes}
                        letters={letters}
                        proposal={proposal}
                        sel={sel}
                        isNamed={!scope}
                      />
                    ))}
                    {chips.data && <Legend clusters={chips.data} {...{ causes, letters, proposal }} />}
                  </>
                )}
              </section>
            </>
          )}
        </div>
        <aside class="place" aria-label="Placement">
          {chosen ? (
            <SelectedJob job={chosen} effect={effects?.get(nameOf(chosen))} />
          ) : (
            sel && jobs.loading && <div class="card chosen-job" />
          )}
          {scopes.length > 0 && (
            <Placements {...{ scopes, options, causes, isListed }} show={propose} chips={chips.data ?? NO_CHIPS} />
          )}
          {/* places that were found need the height */}
          {isDrawn && !options.fit && <FreeCapacity {...{ scopes, title, free }} clusters={chips.data ?? NO_CHIPS} />}
        </aside>
      </div>
      {isDrawn && jobs.data && (
        <div class="below">
          {options.fit && <FreeCapacity {...{ scopes, title, free }} clusters={chips.data ?? NO_CHIPS} />}
          <Reservations scope={scope} />
          {scopes[0] && <DrainImpact scope={drainScope(options.drain, scopes[0])} drain={options.drain ?? ""} />}
        </div>
      )}
    </>
  );
}

const NO_CHIPS: ClusterChips[] = [];
const NO_FREE: Free[] = [];
const NO_CAUSES: Cause[] = [];
const NO_EFFECTS = new Map<string, Effect>();

/** The cluster of the place to drain. */
const drainScope = (drain: string | undefined, scope: string) => (drain || scope).toLowerCase().split("/")[0] ?? scope;

/** The free capacity of several places, each asked for alone. */
function useFree(scopes: string[]) {
  return useLoaded(scopes.length ? `free ${scopes}` : null, (signal) =>
    Promise.all(scopes.map(async (scope) => (await runQuery(makeQuery(FREE, { scope }), signal)).free)),
  );
}

type Count = "chips" | "usable" | "allocated" | "free" | "reserved" | "unusable" | "cordoned" | "degraded";
const total = (all: Free[], name: Count) => all.reduce((sum, free) => sum + free[name], 0);

/** The most jobs that have a part of the bar each. */
const MOST_JOBS = 24;
/** Colors of jobs in the key of all of them. */
const KEY_COLORS = 4;
const UNUSABLE = ["down", "maintenance"] as const;

interface CapacityProps {
  scopes: string[];
  /** The free chips of each scope; none until they are known. */
  all: Free[];
  clusters: ClusterChips[];
  /** Whether the chips are known. */
  isKnown: boolean;
}

/** Counts that add up to all chips, with a bar of them in the colors of the maps, and which of them have failed. */
function Capacity({ scopes, all, clusters, isKnown }: CapacityProps) {
  const { jobs, used, unusable } = useMemo(() => placeUse(scopes, clusters), [scopes.join(), clusters]);
  const chips = total(all, "chips");
  const allocated = total(all, "allocated");
  const cordoned = total(all, "cordoned");
  const named = jobs.slice(0, MOST_JOBS);
  // chips of clusters that are not drawn, or whose jobs changed meanwhile, are of no job here
  const others = allocated - named.reduce((sum, job) => sum + job.chips, 0);
  const down = total(all, "unusable") - cordoned - (unusable.get("maintenance") ?? 0);
  const states = [
    ["down", down],
    ["maintenance", unusable.get("maintenance") ?? 0],
    ["cordoned", cordoned],
  ] as const;
  const bar = [
    ...named.map(({ name, chips: own, ordinal }) => ({ key: name, look: "job", own, letter: letterOf(ordinal) })),
    { key: "allocated", look: "allocated", own: Math.max(0, others) },
    { key: "free", look: "free", own: total(all, "free") },
    { key: "reserved", look: "reserved", own: total(all, "reserved") },
    ...states.map(([state, own]) => ({ key: state, look: state, own })),
  ].filter(({ own }) => own > 0);
  const parts = (["allocated", "free", "reserved", "unusable"] as const)
    .map((name) => [name, total(all, name)] as const)
    .filter(([name, count]) => count || name === "allocated" || name === "free");
  const looks = {
    allocated: ["allocated"],
    free: ["free"],
    reserved: ["reserved"],
    unusable: states.flatMap(([state, own]) => (own > 0 ? [state] : [])),
  };
  const colors = named.slice(0, KEY_COLORS).map(({ ordinal }) => `var(--job-${letterOf(ordinal).tone})`);
  return (
    <div class={all.length && isKnown ? "capacity" : "capacity to-come"}>
      <p class="sum">
        {parts.map(([name, count], index) => (
          <Fragment key={name}>
            {index > 0 && <span class="sign">+</span>}
            <span>
              <strong>
                {looks[name].map((look) => (
                  <i
                    key={look}
                    class={`key ${look}`}
                    style={look === "allocated" && colors.length ? { background: stripes(colors) } : undefined}
                    aria-hidden="true"
                  />
                ))}
                {number(count)}
              </strong>{" "}
              {name}
            </span>
          </Fragment>
        ))}
        <span class="sign">=</span>
        <span>
          <strong>{number(chips)}</strong> chips
        </span>
      </p>
      <div class="bar-of-chips">
        <div class="shares" aria-hidden="true">
          {bar.map(({ key, look, own, ...job }) => (
            <span
              key={key}
              class={look}
              title={`${key}: ${pluralize(own, "chip")}`}
              style={{ flexGrow: own / chips, ...("letter" in job && jobColors(job.letter)) }}
            />
          ))}
        </div>
        <p class="notes">
          {UNUSABLE.map((state) => {
            const [idle, own] = [state === "down" ? down : (unusable.get(state) ?? 0), used.get(state) ?? 0];
            const which = [idle > 0 && `${number(idle)} unusable`, own && `${number(own)} allocated`].filter(Boolean);
            return (
              which.length > 0 && (
                <StateLabel key={state} state={state}>
                  {pluralize(idle + own, "chip")} {stateWord(state)}: {which.join(", ")}
                </StateLabel>
              )
            );
          })}
          {cordoned > 0 && <span>Cordoned: {number(cordoned)} unusable</span>}
          {!states.some(([, own]) => own > 0) && !used.size && "No chip is down, in maintenance or cordoned."}
        </p>
      </div>
    </div>
  );
}

/** Upright stripes of these colors. */
const stripes = (colors: string[]) =>
  `linear-gradient(90deg, ${colors.map((color, at) => `${color} ${(100 * at) / colors.length}% ${(100 * (at + 1)) / colors.length}%`).join(", ")})`;

/** Clusters that are named where a scheduler offers a size in some only. */
const MOST_NAMED = 2;

function offeredIn(clusters: string[], all: number): string {
  if (clusters.length === all) return "all clusters";
  return clusters.length > MOST_NAMED ? `${clusters.length} of ${all} clusters` : clusters.join(", ");
}

interface FreeCapacityProps {
  scopes: string[];
  title: string;
  free: Loaded<Free[]>;
  clusters: ClusterChips[];
}

/** Free blocks by size; domains of several models are placed separately, so that one of them must be chosen. */
function FreeCapacity({ scopes, title, free, clusters }: FreeCapacityProps) {
  const mixed = mixedIn(clusters, scopes, free.error);
  if (mixed.length)
    return (
      <section class="card" aria-label="Free capacity">
        <h2>Free capacity</h2>
        <ChooseDomain clusters={mixed} />
      </section>
    );
  return (
    <section class="card" aria-label="Free capacity">
      <h2>Free capacity in {title}</h2>
      <Loading result={free}>
        {(all) => {
          const concurrent = new Map<number, { jobs: number; clusters: string[] }>();
          for (const [at, { concurrentJobs }] of all.entries())
            for (const { chips, jobs } of concurrentJobs) {
              const size = concurrent.get(chips) ?? { jobs: 0, clusters: [] };
              concurrent.set(chips, { jobs: size.jobs + jobs, clusters: [...size.clusters, scopes[at] ?? ""] });
            }
          return (
            <>
              <dl class="figures">
                {(
                  [
                    ["Free but degraded", total(all, "degraded")],
                    ["Unusable, on cordoned servers", total(all, "cordoned")],
                    ["Largest free block", Math.max(0, ...all.map(({ largestBlock }) => largestBlock))],
                  ] as const
                )
                  .filter(([name, count]) => count || name === "Largest free block")
                  .map(([name, count]) => (
                    <div key={name}>
                      <dt>{name}</dt>
                      <dd>
                        <strong>{number(count)}</strong> {count === 1 ? "chip" : "chips"}
                      </dd>
                    </div>
                  ))}
              </dl>
              <table class="sizes">
                <thead>
                  <tr>
                    <th scope="col">Job size</th>
                    <th scope="col" class="number">
                      Concurrent jobs
                    </th>
                    {scopes.length > 1 && <th scope="col">Offered in</th>}
                  </tr>
                </thead>
                <tbody>
                  {[...concurrent]
                    .filter(([, { jobs }]) => jobs > 0)
                    .sort(([a], [b]) => a - b)
                    .map(([chips, { jobs, clusters }]) => (
                      <tr key={chips}>
                        <th scope="row">{pluralize(chips, "chip")}</th>
                        <td class="number">{number(jobs)}</td>
                        {scopes.length > 1 && <td class="quiet">{offeredIn(clusters, scopes.length)}</td>}
                      </tr>
                    ))}
                </tbody>
              </table>
            </>
          );
        }}
      </Loading>
    </section>
  );
}
