// The description of the chip under the mouse or the cursor.
import { stateWord } from "../state";
import { number, pluralize } from "../words";
import { type AllocationMap, UNAVAILABLE } from "./allocations";
import { addressOf, carries, type Overview, placeOf, rackOf, STATES } from "./overview";
import type { Spot } from "./spots";

interface MapData {
  overview: Overview;
  spots: Spot[];
  allocations: AllocationMap | undefined;
  memory: number | undefined;
}

export function describe({ overview, spots, allocations, memory }: MapData, chip: number): string {
  const pool = overview.pools[chip] ?? 0;
  const size = memory ? ` (${number(pool * memory)} GiB)` : "";
  const spot = overview.states[chip] ? spotAt(spots, chip) : undefined;
  const holder = allocations?.jobNumbers[chip];
  const block = allocations?.blocks?.[placeOf(overview, chip)[1]];
  const words = [
    stateWord(STATES[overview.states[chip] ?? 0] ?? "up"),
    spot?.cause?.why,
    `rack r${rackOf(overview, chip)}`,
    `pools with ${pluralize(pool, "chip")}${size}`,
    allocations && (holder ? `job ${allocations.jobs[holder - 1]?.name}` : useOf(allocations, overview, chip)),
    block !== undefined && `largest free block in its domain: ${pluralize(block, "chip")}`,
  ];
  return `${addressOf(overview, chip)}: ${words.filter(Boolean).join(", ")}`;
}

/** The use of a chip without a job. */
const useOf = ({ unavailable }: AllocationMap, overview: Overview, chip: number) =>
  UNAVAILABLE[unavailable[chip] ?? 0] || (carries(overview, chip) ? "free" : "no job");

const spotAt = (spots: Spot[], chip: number) =>
  spots.find((spot) => !spot.offMap && spot.chip <= chip && chip < spot.chip + spot.chips);
