// GraphQL documents of the Jobs page.
import { graphql, makeQuery, type Result } from "../api";

export const JOBS = graphql(`
  query Jobs($scope: Address) {
    jobs(scope: $scope, first: 500) {
      totalCount
      nodes { name system externalId cluster chips servers firstServer failedChips startedAt pinned who }
    }
  }
`);

export const SCOPES = makeQuery(
  graphql(`
    query JobScopes {
      clusters(first: 1000) { nodes { address chips(first: 1) { totalCount } } }
    }
  `),
  {},
);

export const FREE = graphql(`
  query JobRoom($scope: Address!) {
    free(scope: $scope) { chips usable allocated reserved cordoned free degraded unusable largestBlock concurrentJobs { chips jobs } }
  }
`);

export const RESERVATIONS = graphql(`
  query JobReservations($scope: Address) {
    reservations(scope: $scope, first: 50) {
      totalCount
      nodes { name kind place chips failedChips fromAt untilAt reservedAt who why }
    }
  }
`);

export const PLACEMENTS = graphql(`
  query Fits(
    $scope: Address!, $chips: Int, $servers: Int, $domains: Int, $memory: BigInt, $shape: String, $anyBlock: Boolean!
  ) {
    placements(
      scope: $scope, chips: $chips, servers: $servers, domains: $domains, memory: $memory, shape: $shape
      anyBlock: $anyBlock, k: 100
    ) {
      scope request chips reason suggestedShape positions free reservations
      filterSteps { condition domains }
      placements {
        places servers shape chips degraded remainingFree
        allGather { gigabytesPerSecond }
        bisection { gigabytesPerSecond }
      }
    }
  }
`);

const MOVE_FIELDS = graphql(`
  fragment Moved on JobMove { job chips source destination mustStop obstacle }
`);

export const MAKE_ROOM = graphql(
  `
  query MakeRoom($scope: Address!, $chips: Int, $servers: Int, $domains: Int, $shape: String) {
    makeRoom(scope: $scope, chips: $chips, servers: $servers, domains: $domains, shape: $shape) {
      request chips possible places movedChips lowerBoundMoves exact cordonedServers reservations revision
      moves { ...Moved }
    }
  }
`,
  [MOVE_FIELDS],
);

export const DRAIN_IMPACT = graphql(
  `
  query DrainImpact($scope: Address!, $cordonable: Boolean!) {
    free(scope: $scope) @include(if: $cordonable) { cordoned allocatedOnCordoned }
    drainImpact(scope: $scope) {
      scope disrupted unplanned stopped chips failedChips largestBlock largestBlockAfter reservations revision
      jobs {
        job chips lostChips mustStop outcome destination
        allGather { gigabytesPerSecond }
        allGatherAfter { gigabytesPerSecond }
        moves { job }
      }
      moves { ...Moved }
      sizes { chips jobs jobsAfter }
    }
  }
`,
  [MOVE_FIELDS],
);

export type PlacementsAnswer = Result<typeof PLACEMENTS>["placements"];
export type Placement = PlacementsAnswer["placements"][number];
export type MakeRoomAnswer = Result<typeof MAKE_ROOM>["makeRoom"];
export type DrainImpactAnswer = Result<typeof DRAIN_IMPACT>;
export type Move = Result<typeof MOVE_FIELDS>;

export const KINDS = { chips: "Chips", servers: "Servers", domains: "Domains", memory: "HBM (GiB)", shape: "Shape" };
export type Kind = keyof typeof KINDS;

export interface JobSize {
  kind: Kind;
  /** A size as the user wrote it: 8, 2x4x1. */
  text: string;
}

/** Parse the option fit=: chips:8, memory:768GiB, shape:2x4x1. */
export function parseSize(fit: string | undefined): JobSize | null {
  const [, kind, text] = /^(chips|servers|domains|memory|shape):([\dx]{1,20})(?:GiB)?$/.exec(fit ?? "") ?? [];
  return kind && text && (kind === "shape" || !text.includes("x")) ? { kind: kind as Kind, text } : null;
}

/** The arguments of the placements query; those that don't apply are null. */
export function amounts({ kind, text }: JobSize) {
  const count = (unit: Kind) => (kind === unit ? Math.min(Number(text), 2 ** 31 - 1) : null);
  return {
    chips: count("chips"),
    servers: count("servers"),
    domains: count("domains"),
    shape: kind === "shape" ? text : null,
  };
}

export const bytes = ({ kind, text }: JobSize) => (kind === "memory" ? String(BigInt(text) * 2n ** 30n) : null);
