// The colors of the map: a code for each chip, and the meaning of each code.
import { JOB_TOKENS, type Letter, letterOf } from "../drawing/letter";
import { number, pluralize } from "../words";
import type { AllocationMap } from "./allocations";
import { type Overview, type Part, STATES } from "./overview";

export const COLOR_BY = {
  state: "State",
  job: "Job",
  pool: "Memory pool",
  free: "Free block",
  rack: "Rack",
  domain: "Domain",
};
export type ColorBy = keyof typeof COLOR_BY;

/** Whether the coloring needs allocations. */
export const needsAllocations = (coloring: ColorBy): boolean => coloring === "job" || coloring === "free";

/** A code's meaning. The states come first in every coloring, so that no color hides an unhealthy chip. */
export interface Entry {
  key: string;
  /** A token of tokens.css. */
  token: string;
  label: string;
  letter?: Letter;
  count: number;
}

export interface ChipColors {
  codes: Uint8Array;
  entries: Entry[];
}

const FIRST = STATES.length;
const WORST = ["down", "degraded", "maintenance"];
const FIFTHS = [0, 1, 2, 3, 4];

export function colorChips(overview: Overview, coloring: ColorBy, allocations: AllocationMap | undefined): ChipColors {
  const kinds = meanings(overview, coloring, allocations);
  const codes = new Uint8Array(overview.states);
  for (const part of kinds.length ? overview.parts : []) {
    const meaning = meaningOf(overview, coloring, allocations, part);
    const end = part.firstChip + part.domains * part.perDomain;
    for (let chip = part.firstChip; chip < end; chip++) if (!codes[chip]) codes[chip] = FIRST + meaning(chip);
  }
  const counts = new Uint32Array(FIRST + kinds.length);
  for (const code of codes) counts[code] = (counts[code] ?? 0) + 1;
  const states = STATES.map((state) => ({ key: state, token: state, label: state }));
  const entries = [...states, ...kinds].map((entry, index) => ({ ...entry, count: counts[index] ?? 0 }));
  return { codes, entries };
}

/** The codes from worst to least, selected ones first. */
export function rankCodes({ entries }: ChipColors, only: Set<string>): Uint8Array {
  const worth = ({ key }: Entry, index: number) => {
    const bad = WORST.includes(key) ? 100 - WORST.indexOf(key) : key === "up" ? 0 : 50 - (index % 50);
    return bad + (isChosen(only, key) ? 1000 : 0);
  };
  const order = entries
    .map((_, index) => index)
    .sort((a, b) => worth(entries[a] as Entry, a) - worth(entries[b] as Entry, b));
  const ranks = new Uint8Array(entries.length);
  order.forEach((code, rank) => {
    ranks[code] = rank + 1;
  });
  return ranks;
}

export const isChosen = (only: Set<string>, key: string) => only.size === 0 || only.has(key);

type Meaning = Omit<Entry, "count">;

function meanings(overview: Overview, coloring: ColorBy, allocations: AllocationMap | undefined): Meaning[] {
  const perDomain = overview.parts.length === 1 ? overview.parts[0]?.perDomain : undefined;
  switch (coloring) {
    case "state":
      return [];
    case "pool":
      return FIFTHS.map((index) => ({
        key: `pool${index}`,
        token: `pool-${index}`,
        label: `pools ${perDomain ? range(index, perDomain) : `${20 * index} to ${20 * index + 20} %`}`,
      }));
    case "free":
      if (!allocations) return [];
      return [
        { key: "none", token: "line", label: "no free chips" },
        ...FIFTHS.map((index) => ({
          key: `free${index}`,
          token: `pool-${4 - index}`,
          label: perDomain ? range(index, perDomain) : `${20 * index} to ${20 * index + 20} %`,
        })),
      ];
    case "job": {
      if (!allocations) return [];
      const others = allocations.jobs.length - JOB_TOKENS.length;
      return [
        { key: "free", token: "line", label: "not allocated" },
        ...allocations.jobs.slice(0, JOB_TOKENS.length).map(({ name, ordinal }, index) => {
          const letter = letterOf(ordinal);
          return { key: `job${index}`, token: `job-${letter.tone}`, label: name, letter };
        }),
        ...(others > 0 ? [{ key: "jobs", token: "allocated", label: pluralize(others, "other job") }] : []),
      ];
    }
    case "rack":
    case "domain":
      return [
        { key: "even", token: "pool-4", label: `even ${coloring}s` },
        { key: "odd", token: "pool-2", label: `odd ${coloring}s` },
      ];
  }
}

/** Describe a fifth of the range: 14 to 26 chips. */
const range = (step: number, most: number) => {
  const [from, to] = [
    Math.ceil((step * most) / 5) + (step ? 0 : 1),
    step === 4 ? most : Math.ceil(((step + 1) * most) / 5) - 1,
  ];
  return from >= to ? pluralize(to, "chip") : `${number(from)} to ${pluralize(to, "chip")}`;
};

const fifth = (value: number, most: number) => Math.min(4, Math.floor((5 * value) / most));

/** The index of a healthy chip's meaning. */
function meaningOf(
  overview: Overview,
  coloring: ColorBy,
  allocations: AllocationMap | undefined,
  part: Part,
): (chip: number) => number {
  const { perDomain, perServer, serversPerRack, firstChip, firstDomain, firstRack } = part;
  const domain = (chip: number) => firstDomain + Math.floor((chip - firstChip) / perDomain);
  switch (coloring) {
    case "pool":
      return (chip) => fifth(overview.pools[chip] ?? 0, perDomain);
    case "free":
      return (chip) => {
        const block = allocations?.blocks?.[domain(chip)] ?? 0;
        return block ? 1 + fifth(block, perDomain) : 0;
      };
    case "job":
      return (chip) => Math.min(allocations?.jobNumbers[chip] ?? 0, JOB_TOKENS.length + 1);
    case "rack":
      return (chip) => (firstRack + Math.floor((chip - firstChip) / (perServer * serversPerRack))) % 2;
    default:
      return (chip) => domain(chip) % 2;
  }
}
