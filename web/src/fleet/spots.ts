// Unhealthy parts as spots on the map: a server whose chips share one state, single chips, or parts that are not chips.
import type { Result } from "../api";
import { graphql, makeQuery } from "../api";
import { isState, type State, STATES as WORST_FIRST } from "../state";
import { addressOf, chipsOf, domainOf, type Overview, placeOf, STATES } from "./overview";

export const CAUSES = graphql(`
  query Causes($cluster: Address) {
    incidents(scope: $cluster, first: 1000) {
      totalCount
      nodes { id place causes causeCount why who startedAt jobs parts { kind state count } }
    }
  }
`);
/** The causes in a cluster, or in all of them. */
export const causesOf = (cluster: string | null) => makeQuery(CAUSES, { cluster });

export type Cause = Result<typeof CAUSES>["incidents"]["nodes"][number];

export interface Spot {
  address: string;
  state: State;
  /** The chip that carries the glyph when zoomed in; of a server, the first. */
  chip: number;
  chips: number;
  /** Whether no chip shows it: a switch, NIC or link, or a cause at another time than the map's. */
  offMap: boolean;
  /** Of a link between two servers, the first and last chip of each. */
  servers?: Ends[] | undefined;
  cause: Cause | undefined;
}

type Ends = [first: number, last: number];

const rank = (state: State) => WORST_FIRST.indexOf(state);

/** The state that labels a cause: the worst. */
export const stateOf = ({ parts }: Cause): State =>
  WORST_FIRST.find((state) => parts.some((part) => part.state === state)) ?? "down";

/** Sort causes from worst to least; of equal states, those with more chips first. */
export function sortCauses(causes: Cause[]): Cause[] {
  const chips = new Map(causes.map((cause) => [cause, chipsIn(cause)]));
  return [...causes].sort((a, b) => rank(stateOf(a)) - rank(stateOf(b)) || (chips.get(b) ?? 0) - (chips.get(a) ?? 0));
}

export const chipsIn = ({ parts }: Cause) =>
  parts.reduce((sum, { kind, count }) => sum + (kind === "chip" ? count : 0), 0);

/** The address that opens for a cause. */
export const addressOfCause = ({ causes, place }: Cause) => causes[0] ?? place ?? "";

/** Return spots that cover every unhealthy chip and every cause in a domain, worst first. */
export function spotsOf(overview: Overview, causes: Cause[]): Spot[] {
  const spots: Spot[] = [];
  const covered = new Set<number>();
  for (const cause of causes) {
    for (const address of cause.causes) {
      const place = chipsAt(overview, address);
      if (!place) continue;
      const { first, chips } = place;
      const states = Array.from(overview.states.subarray(first, first + chips), (code) => STATES[code] as State);
      const worst = place.offMap
        ? undefined
        : WORST_FIRST.find((state) => isUnhealthy(state) && states.includes(state));
      if (worst) for (let index = 0; index < chips; index++) covered.add(first + index);
      spots.push({
        address,
        state: worst ?? stateOf(cause),
        chip: first,
        chips,
        offMap: !worst,
        servers: serversBeside(overview, address),
        cause,
      });
    }
  }
  for (let chip = 0; chip < overview.chips; chip++) {
    if (!overview.states[chip] || covered.has(chip)) continue;
    const [{ perServer, firstChip }] = placeOf(overview, chip);
    const isFirst = (chip - firstChip) % perServer === 0;
    const whole =
      isFirst && overview.states.subarray(chip, chip + perServer).every((state) => state === overview.states[chip]);
    const address = addressOf(overview, chip);
    const state = STATES[overview.states[chip] as number] as State;
    const chips = whole ? perServer : 1;
    spots.push({
      address: whole && perServer > 1 ? address.replace(/\/c\d+$/, "") : address,
      state,
      chip,
      chips,
      offMap: false,
      cause: undefined,
    });
    chip += chips - 1;
  }
  return spots.sort((a, b) => rank(a.state) - rank(b.state) || b.chips - a.chips);
}

/** The chips of an address in a domain; for a switch, NIC or link the chips next to which it is drawn. */
export function chipsAt(
  overview: Overview,
  address: string,
): { first: number; chips: number; offMap: boolean } | undefined {
  const ends = address.split("--").map((end) => /^([^/]+)\/d(\d+)(?:\/s(\d+)(?:\/c(\d+))?)?(\/.*)?$/.exec(end));
  const match = ends.find((end) => end?.[1] === overview.cluster && Number(end[2]) < overview.domains);
  if (!match) return undefined;
  const [, , domain, server, chip, more] = match;
  const [first, all] = chipsOf(overview, Number(domain));
  const [{ perServer, servers }] = placeOf(overview, first);
  const offMap = address.includes("--") || more !== undefined;
  if (server === undefined) return { first, chips: all, offMap };
  if (Number(server) >= servers || Number(chip ?? 0) >= perServer) return undefined;
  const start = first + Number(server) * perServer;
  return chip === undefined
    ? { first: start, chips: perServer, offMap }
    : { first: start + Number(chip), chips: 1, offMap };
}

/** The first and last chip of each of the two servers of a domain that a link is between. */
export function serversBeside(overview: Overview, address: string): Ends[] | undefined {
  const [one, other] = address.split("--").map((end) => /^[^/]+\/d\d+\/s\d+(?=\/)/.exec(end)?.[0]);
  if (!one || !other || one === other || domainOf(one) !== domainOf(other)) return undefined;
  const [a, b] = [chipsAt(overview, one), chipsAt(overview, other)];
  return (
    a &&
    b && [
      [a.first, a.first + a.chips - 1],
      [b.first, b.first + b.chips - 1],
    ]
  );
}

export const isUnhealthy = (state: string): state is State => isState(state) && state !== "up";
