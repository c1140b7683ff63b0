// The jobs that chips of a cluster are allocated to, and the largest free block of each domain.
import { download } from "../api";
import { type Letter, letterOf } from "../drawing/letter";
import type { Overview } from "./overview";

export interface AllocationMap {
  /** Largest first; the ordinal, among all jobs of the inventory, is that of its letter. */
  jobs: { name: string; chips: number; ordinal: number }[];
  /** For each chip, the number of its job from 1; 0: none. */
  jobNumbers: Uint32Array;
  /** Chips of the largest free block of each domain; null if unknown. */
  blocks: number[] | null;
}

interface AllocationsJson {
  jobs: AllocationMap["jobs"];
  runs: [first: number, chips: number, job: number][];
  blocks: number[] | null;
}

async function fetchJson(cluster: string, signal: AbortSignal): Promise<AllocationsJson> {
  return JSON.parse(new TextDecoder().decode(await download(`chips/${encodeURIComponent(cluster)}/jobs`, signal)));
}

export async function fetchAllocations({ cluster, chips }: Overview, signal: AbortSignal): Promise<AllocationMap> {
  const { jobs, runs, blocks } = await fetchJson(cluster, signal);
  const jobNumbers = new Uint32Array(chips);
  for (const [first, length, job] of runs) jobNumbers.fill(job + 1, first, first + length);
  return { jobs, jobNumbers: jobNumbers, blocks };
}

/** The letters of a cluster's jobs by their names, as `trninv release` takes them. */
export const lettersOf = ({ jobs }: Pick<AllocationMap, "jobs">): Map<string, Letter> =>
  new Map([...jobs].sort((a, b) => a.ordinal - b.ordinal).map(({ name, ordinal }) => [name, letterOf(ordinal)]));

export const fetchLetters = async (cluster: string, signal: AbortSignal) => lettersOf(await fetchJson(cluster, signal));
