// The answer in one sentence, for screen readers.
import { gigabytes, number, pluralize } from "../words";
import { comparable } from "./answers";
import type { Mode } from "./modes";
import type { Answers } from "./requests";

/** Empty until everything in it is loaded. */
export function summarize(
  mode: Mode,
  from: string,
  to: string,
  { shortest, widest, flow, halves, pool }: Answers,
): string {
  if (mode === "jobs") return "";
  if (mode === "bisection") {
    if (halves.loading || !halves.data) return "";
    const { baseline, upper } = halves.data;
    return `Bisection bandwidth ${change(baseline && gigabytes(baseline.upper), gigabytes(upper))}${comparable(halves.data) ? "" : ", not comparable"}`;
  }
  if (mode === "pool") {
    if (pool.loading || !pool.data) return "";
    const { baseline, chips } = pool.data;
    return `${from} reaches the memory of ${change(baseline && number(baseline.chips), pluralize(chips, "chip"))}`;
  }
  const ways = mode === "widest" ? widest : shortest;
  if (ways.loading || flow.loading || !ways.data || !flow.data) return "";
  const [path, most] = [ways.data.paths[0], flow.data];
  const flows = change(most.baseline && gigabytes(most.baseline.maximumFlow), gigabytes(most.maximumFlow));
  return path
    ? `${from} to ${to}: ${pluralize(path.hops, "hop")}, maximum flow ${flows}`
    : `${from} to ${to}: no path, ${ways.data.reason}`;
}

const change = (before: string | null | undefined, now: string) =>
  before && before !== now ? `${before}, then ${now}` : now;
