// The jobs that chips of a cluster are allocated to, which others are not free, and each domain's largest free block.
import { download } from "../api";
import { type Letter, letterOf } from "../drawing/letter";
import type { Overview } from "./overview";

/** Why chips that are up or degraded and have no job are not free. */
export const UNAVAILABLE = ["", "reserved", "cordoned"] as const;

export interface AllocationMap {
  /** Largest first; the ordinal, among all jobs of the inventory, is that of its letter. */
  jobs: { name: string; chips: number; ordinal: number }[];
  /** For each chip, the number of its job from 1; 0: none. */
  jobNumbers: Uint32Array;
  /** For each chip, the index in UNAVAILABLE of why it is not free though it is up and has no job; 0: it is free. */
  unavailable: Uint8Array;
  /** Chips of the largest free block of each domain; null if unknown. */
  blocks: number[] | null;
}

type Run = [first: number, chips: number];

interface AllocationsJson {
  jobs: AllocationMap["jobs"];
  runs: [first: number, chips: number, job: number][];
  blocks: number[] | null;
  reserved: Run[];
  cordoned: Run[];
}

async function fetchJson(cluster: string, signal: AbortSignal): Promise<AllocationsJson> {
  return JSON.parse(new TextDecoder().decode(await download(`chips/${encodeURIComponent(cluster)}/jobs`, signal)));
}

export async function fetchAllocations({ cluster, chips }: Overview, signal: AbortSignal): Promise<AllocationMap> {
  const { jobs, runs, blocks, ...others } = await fetchJson(cluster, signal);
  const jobNumbers = new Uint32Array(chips);
  for (const [first, length, job] of runs) jobNumbers.fill(job + 1, first, first + length);
  const unavailable = new Uint8Array(chips);
  for (const why of ["reserved", "cordoned"] as const)
    for (const [first, length] of others[why]) unavailable.fill(UNAVAILABLE.indexOf(why), first, first + length);
  return { jobs, jobNumbers, unavailable, blocks };
}

/** The letters of a cluster's jobs by their names, as `trninv release` takes them. */
export const lettersOf = ({ jobs }: Pick<AllocationMap, "jobs">): Map<string, Letter> =>
  new Map([...jobs].sort((a, b) => a.ordinal - b.ordinal).map(({ name, ordinal }) => [name, letterOf(ordinal)]));

export const fetchLetters = async (cluster: string, signal: AbortSignal) => lettersOf(await fetchJson(cluster, signal));
