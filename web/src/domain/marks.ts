// What the answer to the chosen question marks in the picture.
import type { Loaded } from "../api";
import type { Wiring } from "../drawing/layout";
import { type Marks, NOTHING } from "../drawing/wiring";
import type { Answers } from "./asked";
import type { Ways } from "./documents";
import { lettersOf } from "./jobs";
import type { Mode } from "./modes";

const addresses = (all: { address: string }[]) => new Set(all.map((item) => item.address));
const settled = <T>({ data, loading }: Loaded<T>) => (loading ? undefined : data);

/** The marks of an answer, once it is that of what is asked now. */
export function marksOf(mode: Mode, wiring: Wiring, answers: Answers, from: string): Marks {
  if (mode === "jobs") return { ...NOTHING, letters: lettersOf(wiring) };
  if (mode === "bisection") {
    const halves = settled(answers.halves);
    if (!halves) return NOTHING;
    return { ...NOTHING, cut: true, links: addresses(halves.cut.nodes), side: new Set(halves.chipsA.nodes) };
  }
  if (mode === "pool") {
    const rings = settled(answers.pool)?.byHops ?? [];
    const hops = rings.flatMap((ring) => ring.reached.map((chip): [string, number] => [chip.address, ring.hops]));
    return { ...NOTHING, hops: new Map(rings.length ? [[from, 0], ...hops] : []) };
  }
  if (mode === "cut") {
    const flow = settled(answers.flow);
    return flow ? { ...NOTHING, cut: true, links: addresses(flow.minimumCut.nodes) } : NOTHING;
  }
  const ways = settled(mode === "widest" ? answers.widest : answers.shortest);
  if (!ways) return NOTHING;
  const links = linksOf(ways);
  const before = ways.baseline ? linksOf(ways.baseline) : new Set<string>();
  const nodes = addresses((ways.paths[0]?.steps ?? []).filter((step) => step.kind !== "link"));
  return { ...NOTHING, links, nodes, before: new Set([...before].filter((link) => !links.has(link))) };
}

const linksOf = ({ paths }: Pick<Ways, "paths">) =>
  addresses((paths[0]?.steps ?? []).filter((step) => step.kind === "link"));
