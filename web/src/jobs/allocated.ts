// The use of each chip of a cluster, server by server, as the map of jobs draws it.
import { download, useLoaded } from "../api";
import type { Letter } from "../drawing/letter";
import { type AllocationMap, fetchAllocations, lettersOf, UNAVAILABLE } from "../fleet/allocations";
import { carries, chipsOf, decodeOverview, type Overview, placeOf, STATES } from "../fleet/overview";
import { chipsAt } from "../fleet/spots";

export interface ClusterChips {
  overview: Overview;
  allocations: AllocationMap;
}

export function useClusterChips(clusters: string[]) {
  return useLoaded(clusters.length ? `jobs of ${clusters}` : null, (signal) =>
    Promise.all(
      clusters.map(async (cluster): Promise<ClusterChips> => {
        const overview = decodeOverview(cluster, await download(`chips/${encodeURIComponent(cluster)}`, signal));
        return { overview, allocations: await fetchAllocations(overview, signal) };
      }),
    ),
  );
}

/** The code of the error that says that a cluster must be asked domain by domain. */
export const SEVERAL_MODELS = "SEVERAL_MODELS";

/** The clusters of which an error says so. */
export const mixedIn = (clusters: ClusterChips[], scopes: string[], error: { code: string } | undefined) =>
  error?.code === SEVERAL_MODELS
    ? clusters.flatMap(({ overview }) =>
        overview.parts.length > 1 && scopes.includes(overview.cluster) ? [overview] : [],
      )
    : [];

/** The letters of all jobs. */
export const lettersIn = (clusters: ClusterChips[]): Map<string, Letter> =>
  new Map(clusters.flatMap(({ allocations }) => [...lettersOf(allocations)]));

/** What a cluster's chips are used for, in numbers. */
export interface ClusterUse {
  allocated: number;
  /** Chips of jobs that are unhealthy. */
  failed: number;
  reserved: number;
  cordoned: number;
  /** Chips in each state that is not up. */
  states: Map<string, number>;
}

export function clusterUse({ overview, allocations }: ClusterChips): ClusterUse {
  const use: ClusterUse = { allocated: 0, failed: 0, reserved: 0, cordoned: 0, states: new Map() };
  overview.states.forEach((code, chip) => {
    const job = allocations.jobNumbers[chip];
    const state = STATES[code] ?? "up";
    if (job) use.allocated++;
    if (job && code) use.failed++;
    const why = UNAVAILABLE[allocations.unavailable[chip] ?? 0];
    if (why) use[why]++;
    if (code) use.states.set(state, (use.states.get(state) ?? 0) + 1);
  });
  return use;
}

/** Chips of places: of each job, the oldest first, and those that are down or in maintenance, with and without a job. */
export interface PlaceUse {
  jobs: { name: string; chips: number; ordinal: number }[];
  used: Map<string, number>;
  unusable: Map<string, number>;
}

export function placeUse(scopes: string[], clusters: ClusterChips[]): PlaceUse {
  const jobs = new Map<string, PlaceUse["jobs"][number]>();
  const [used, unusable] = [new Map<string, number>(), new Map<string, number>()];
  for (const { overview, allocations } of clusters) {
    const scope = scopes.find((each) => each.split("/")[0] === overview.cluster) ?? "";
    const { first, chips } = chipsAt(overview, scope) ?? { first: 0, chips: overview.chips };
    for (let chip = first; chip < first + chips; chip++) {
      const job = allocations.jobs[(allocations.jobNumbers[chip] ?? 0) - 1];
      if (job) {
        const own = jobs.get(job.name) ?? { ...job, chips: 0 };
        jobs.set(job.name, { ...own, chips: own.chips + 1 });
      }
      if (carries(overview, chip)) continue;
      const [counts, state] = [job ? used : unusable, STATES[overview.states[chip] ?? 0] ?? "down"];
      counts.set(state, (counts.get(state) ?? 0) + 1);
    }
  }
  return { jobs: [...jobs.values()].sort((a, b) => a.ordinal - b.ordinal), used, unusable };
}

/** Clusters with unhealthy chips of jobs first, then those with jobs, then those with unhealthy chips. */
export function busiestFirst(clusters: ClusterChips[]): ClusterChips[] {
  const ranked = clusters.map((cluster) => {
    const { allocated, failed, states } = clusterUse(cluster);
    return { cluster, rank: Number(failed > 0) * 4 + Number(allocated > 0) * 2 + Number(states.size > 0) };
  });
  return ranked.sort((a, b) => b.rank - a.rank).map(({ cluster }) => cluster);
}

const IDLE = ["free", ...UNAVAILABLE.slice(1), "unusable"] as Exclude<Use["kind"], "job">[];

export interface Use {
  /** The job's name; empty: none. */
  job: string;
  /** What the chips are if they have no job; unusable: neither up nor degraded. */
  kind: "job" | "free" | "reserved" | "cordoned" | "unusable";
  chips: number;
}

export interface ServerUse {
  /** Chips of each job and of each kind, in the order of the chips. */
  uses: Use[];
  /** Chips in each state that is not up. */
  states: Map<string, number>;
  chips: number;
}

export interface DomainUse {
  address: string;
  servers: ServerUse[];
  /** Whether all chips are free and up. */
  isIdle: boolean;
}

export function domainUse({ overview, allocations }: ClusterChips, domain: number): DomainUse {
  const [first, chips] = chipsOf(overview, domain);
  const [{ perServer }] = placeOf(overview, first);
  const servers: ServerUse[] = [];
  for (let start = first; start < first + chips; start += perServer) {
    const uses = new Map<number, Use>();
    const states = new Map<string, number>();
    for (let chip = start; chip < start + perServer; chip++) {
      const job = allocations.jobNumbers[chip] ?? 0;
      const idle = carries(overview, chip) ? (allocations.unavailable[chip] ?? 0) : UNAVAILABLE.length;
      const use = uses.get(job || -idle);
      if (use) use.chips++;
      else
        uses.set(job || -idle, {
          job: allocations.jobs[job - 1]?.name ?? "",
          kind: job ? "job" : (IDLE[idle] ?? "free"),
          chips: 1,
        });
      const state = STATES[overview.states[chip] ?? 0] ?? "up";
      if (state !== "up") states.set(state, (states.get(state) ?? 0) + 1);
    }
    servers.push({ uses: [...uses.values()], states, chips: perServer });
  }
  const isIdle = servers.every(({ uses, states }) => !states.size && uses.every(({ kind }) => kind === "free"));
  return { address: `${overview.cluster}/d${domain}`, servers, isIdle };
}

/** Where the jobs of a cluster are: whole domains, servers, or domains with the number of chips, in order. */
export function placesByJob(cluster: ClusterChips): Map<string, string[]> {
  const places = new Map<string, string[]>();
  const add = (job: string, place: string) => places.set(job, [...(places.get(job) ?? []), place]);
  for (let domain = 0; domain < cluster.overview.domains; domain++) {
    const { address, servers, isIdle } = domainUse(cluster, domain);
    if (isIdle) continue;
    const jobs = new Set(servers.flatMap(({ uses }) => uses.map(({ job }) => job)));
    for (const job of jobs) {
      if (!job) continue;
      if (jobs.size === 1) add(job, address);
      else
        for (const [server, { uses }] of servers.entries())
          if (uses.some((use) => use.job === job)) add(job, `${address}/s${server}`);
    }
  }
  return places;
}
