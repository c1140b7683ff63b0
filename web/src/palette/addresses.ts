// Addresses as people type them: prod a d7 s2 is prod-a/d7/s2, and rack 3 is r3.
import { score, wordsOf } from "./match";

const LETTERS: Record<string, string> = {
  domain: "d",
  rack: "r",
  server: "s",
  chip: "c",
  switch: "sw",
  nic: "efa",
  efa: "efa",
};
const STEP = /^(?:d|r|s|c|sw|efa|nic|n|t)\d+$/;

/** The address that a text with blanks means, or undefined if it means none. */
export function addressOf(text: string, clusters: string[]): string | undefined {
  if (!/\s/.test(text)) return undefined;
  const spelled = text.toLowerCase().replace(/\b([a-z]+)\s+(\d+)\b/g, (whole, noun, ordinal) => {
    const letter = LETTERS[noun];
    return letter ? `${letter}${ordinal}` : whole;
  });
  const words = spelled.split(/[\s/]+/).filter(Boolean);
  const first = words.findIndex((word) => STEP.test(word));
  const steps = first < 0 ? [] : words.slice(first);
  if (!steps.every((step) => STEP.test(step))) return undefined;
  const name = (first < 0 ? words : words.slice(0, first)).join(" ");
  if (!name) return steps.join("/") || undefined;
  const cluster = bestCluster(name, clusters);
  return cluster && [cluster, ...steps].join("/");
}

function bestCluster(name: string, clusters: string[]): string | undefined {
  const joined = wordsOf(name).join("");
  const ranked = clusters
    .map((slug) => ({ slug, rank: wordsOf(slug).join("") === joined ? 1 : 0.9 * score(name, slug) }))
    .sort((a, b) => b.rank - a.rank);
  return ranked[0] && ranked[0].rank > 0 ? ranked[0].slug : undefined;
}
