// The marks of an answer in the picture.
import type { Loaded } from "../api";
import type { Wiring } from "../drawing/layout";
import { type Marks, NO_MARKS } from "../drawing/wiring";
import type { PathAnswer } from "./documents";
import { type Letters, lettersOfChips } from "./jobs";
import type { Mode } from "./modes";
import type { Answers } from "./requests";

const addresses = (all: { address: string }[]) => new Set(all.map((item) => item.address));
const settledData = <T>({ data, loading }: Loaded<T>) => (loading ? undefined : data);

/** The marks of the answer once it belongs to the current question. */
export function marksOf(mode: Mode, wiring: Wiring, answers: Answers, from: string, letters: Letters): Marks {
  if (mode === "jobs") return { ...NO_MARKS, letters: lettersOfChips(wiring, letters) };
  if (mode === "bisection") {
    const halves = settledData(answers.halves);
    if (!halves) return NO_MARKS;
    return { ...NO_MARKS, cut: true, links: addresses(halves.cut.nodes), side: new Set(halves.chipsA.nodes) };
  }
  if (mode === "pool") {
    const rings = settledData(answers.pool)?.byHops ?? [];
    const hops = rings.flatMap((ring) => ring.reached.map((chip): [string, number] => [chip.address, ring.hops]));
    return { ...NO_MARKS, hops: new Map(rings.length ? [[from, 0], ...hops] : []) };
  }
  if (mode === "cut") {
    const flow = settledData(answers.flow);
    return flow ? { ...NO_MARKS, cut: true, links: addresses(flow.minimumCut.nodes) } : NO_MARKS;
  }
  const ways = settledData(mode === "widest" ? answers.widest : answers.shortest);
  if (!ways) return NO_MARKS;
  const links = linksOf(ways);
  const before = ways.baseline ? linksOf(ways.baseline) : new Set<string>();
  const nodes = addresses((ways.paths[0]?.steps ?? []).filter((step) => step.kind !== "link"));
  return { ...NO_MARKS, links, nodes, before: new Set([...before].filter((link) => !links.has(link))) };
}

const linksOf = ({ paths }: Pick<PathAnswer, "paths">) =>
  addresses((paths[0]?.steps ?? []).filter((step) => step.kind === "link"));
