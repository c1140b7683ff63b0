// The colors of the map: a code for each chip, and the meaning of each code.
import { JOB_TOKENS, type Letter, letterOf, toneOf } from "../drawing/letter";
import { number, pluralize } from "../words";
import { type AllocationMap, UNAVAILABLE } from "./allocations";
import { carries, type Overview, type Part, STATES } from "./overview";

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

/** An entry of the legend: a state, or what a coloring tells of chips. */
export interface Entry {
  key: string;
  /** A token of tokens.css. */
  token: string;
  label: string;
  letter?: Letter;
  count: number;
}

/** What all chips with one code look like. */
export interface Shade {
  token: string;
  /** The token of their state if they have another color. */
  mark: string | undefined;
  /** The index of their state in STATES. */
  state: number;
  /** The legend's entries that they count for. */
  keys: string[];
}

export interface ChipColors {
  codes: Uint8Array;
  /** By code. */
  shades: Shade[];
  entries: Entry[];
  /** The jobs that chips are colored by. */
  jobs: AllocationMap | undefined;
}

/** Jobs that the legend names; the others have the colors of their letters too. */
const NAMED = 24;
const WORST = ["down", "degraded", "maintenance"];
const FIFTHS = [0, 1, 2, 3, 4];
const JOB = /^job/;

/**
 * Color a cluster's chips.
 *
 * An unhealthy chip has its state's color, so that nothing hides it. If it has a job, it has the job's color, and the
 * map marks its state: a job is on its chips whatever their state.
 */
export function colorChips(overview: Overview, coloring: ColorBy, allocations: AllocationMap | undefined): ChipColors {
  const kinds = meanings(overview, coloring, allocations);
  const codes = new Uint8Array(overview.states);
  for (const part of kinds.length ? overview.parts : []) {
    const meaning = meaningOf(overview, coloring, allocations, part);
    const end = part.firstChip + part.domains * part.perDomain;
    for (let chip = part.firstChip; chip < end; chip++)
      codes[chip] = STATES.length * (1 + meaning(chip)) + (overview.states[chip] ?? 0);
  }
  const shades = [undefined, ...kinds].flatMap((kind) =>
    STATES.map((name, state): Shade => {
      const isKind = kind !== undefined && (state === 0 || coloring === "job");
      const keys = [...(kind && state === 0 ? [] : [name]), ...(isKind ? [kind.key] : [])];
      const isColored = isKind && (state === 0 || JOB.test(kind.key));
      return { token: isColored ? kind.token : name, mark: isColored && state > 0 ? name : undefined, state, keys };
    }),
  );
  const counts = new Map<string, number>();
  const byCode = new Uint32Array(shades.length);
  for (const code of codes) byCode[code] = (byCode[code] ?? 0) + 1;
  shades.forEach(({ keys }, code) => {
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + (byCode[code] ?? 0));
  });
  const states = STATES.map((state) => ({ key: state, token: state, label: state }));
  const named = new Map([...states, ...kinds].map((entry) => [entry.key, entry]));
  const entries = [...named.values()].map((entry) => ({ ...entry, count: counts.get(entry.key) ?? 0 }));
  return { codes, shades, entries, jobs: coloring === "job" ? allocations : undefined };
}

/** The codes from worst to least, selected ones first. */
export function rankCodes({ shades }: ChipColors, only: Set<string>): Uint8Array {
  const worth = (shade: Shade, index: number) => {
    const state = STATES[shade.state] ?? "up";
    const bad = state !== "up" ? 1000 - WORST.indexOf(state) : shade.keys.includes("up") ? 0 : 500 - index;
    return bad + (isChosen(only, shade.keys) ? 10_000 : 0);
  };
  const order = shades
    .map((_, index) => index)
    .sort((a, b) => worth(shades[a] as Shade, a) - worth(shades[b] as Shade, b));
  const ranks = new Uint8Array(shades.length);
  order.forEach((code, rank) => {
    ranks[code] = rank + 1;
  });
  return ranks;
}

export const isChosen = (only: Set<string>, keys: string[]) => only.size === 0 || keys.some((key) => only.has(key));

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
      const others = allocations.jobs.length - NAMED;
      return [
        { key: "free", token: "line", label: "free" },
        { key: "reserved", token: "reserved", label: "reserved" },
        { key: "cordoned", token: "line-strong", label: "cordoned" },
        ...allocations.jobs.slice(0, NAMED).map(({ name, ordinal }, index) => {
          const letter = letterOf(ordinal);
          return { key: `job${index}`, token: `job-${letter.tone}`, label: name, letter };
        }),
        ...(others > 0
          ? JOB_TOKENS.map((token) => ({ key: "jobs", token, label: pluralize(others, "other job") }))
          : []),
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

/** The index of a chip's meaning; -1: its state says all. */
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
      return (chip) => {
        const job = allocations?.jobNumbers[chip] ?? 0;
        if (job > NAMED) return UNAVAILABLE.length + NAMED + toneOf(allocations?.jobs[job - 1]?.ordinal ?? 0);
        if (job) return UNAVAILABLE.length - 1 + job;
        return carries(overview, chip) ? (allocations?.unavailable[chip] ?? 0) : -1;
      };
    case "rack":
      return (chip) => (firstRack + Math.floor((chip - firstChip) / (perServer * serversPerRack))) % 2;
    default:
      return (chip) => domain(chip) % 2;
  }
}
