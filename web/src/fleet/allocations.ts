// Who holds the chips of a cluster, and the largest free block of each domain.
import { download } from "../api";
import type { Overview } from "./overview";

export interface AllocationMap {
  /** The largest first. */
  jobs: { name: string; chips: number }[];
  /** Of each chip, which job holds it, from 1 on; 0: none. */
  jobNumbers: Uint32Array;
  /** Chips of the largest free block of each domain; null where that is not known. */
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
