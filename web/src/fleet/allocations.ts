// The jobs that chips of a cluster are allocated to, and the largest free block of each domain.
import { download } from "../api";
import type { Overview } from "./overview";

export interface AllocationMap {
  /** Largest first. */
  jobs: { name: string; chips: number }[];
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

export async function fetchAllocations({ cluster, chips }: Overview, signal: AbortSignal): Promise<AllocationMap> {
  const body = await download(`chips/${encodeURIComponent(cluster)}/jobs`, signal);
  const { jobs, runs, blocks } = JSON.parse(new TextDecoder().decode(body)) as AllocationsJson;
  const jobNumbers = new Uint32Array(chips);
  for (const [first, length, job] of runs) jobNumbers.fill(job + 1, first, first + length);
  return { jobs, jobNumbers: jobNumbers, blocks };
}
