// GraphQL documents of the domain view.
import { graphql, type Result } from "../api";

export const WIRING = graphql(`
  query Wiring($address: Address!, $narrow: Boolean!) {
    unappliedFindingCount(scope: $address)
    incidents(scope: $address, first: 3) {
      totalCount
      nodes { id place causes causeCount why who startedAt jobs jobCount parts { kind state count } }
    }
    nics(filter: { domain: { eq: $address }, state: { ne: UP } }, first: 1) { aggregates(by: [STATE]) { state count } }
    layout(place: $address, narrow: $narrow) {
      box { x y width height }
      font
      strokeWidth
      panels { x y width height }
      labels { text x y anchor strong }
      places { address x y width height text sign solid { x y z } }
      routes { address strokes sign }
      wrapLinks
    }
    resolve(address: $address) {
      ... on Domain {
        address model wiring
        servers(first: 64) {
          nodes {
            address ordinal state
            rack { address ordinal }
            chips(first: 64) { nodes { address ordinal state job lastChange { why } } }
          }
        }
        switches(first: 100) { nodes { address ordinal state lastChange { why } server { ordinal } rack { ordinal } } }
        links(filter: { scope: { in: [SERVER, RACK, DOMAIN] } }, first: 1000) {
          nodes {
            address state technology scope
            nominal { gigabytesPerSecond }
            bandwidth { gigabytesPerSecond }
            a { address }
            b { address }
          }
        }
      }
    }
  }
`);

const FACT_FIELDS = graphql(`
  fragment Rests on Fact { subject attribute value quote formula dispute assumed note source { title } }
`);

// Without facts an answer compiles into a plan; the links of FLOW have the same facts.
const PATH_FIELDS = graphql(`
  fragment Ways on PathAnswer {
    definition source target reachable reason tiedPaths
    paths {
      hops
      bandwidth { gigabytesPerSecond }
      steps { kind address bandwidth { gigabytesPerSecond } }
    }
    instances { server instance host }
  }
`);

const BANDWIDTH_FIELDS = graphql(
  `
  fragment Flow on BandwidthAnswer {
    definition source target
    facts { ...Rests }
    maximumFlow { gigabytesPerSecond }
    minimumCut(first: 1000) { totalCount nodes { address bandwidth { gigabytesPerSecond } } }
  }
`,
  [FACT_FIELDS],
);

export const SHORTEST = graphql(
  `
  query Shortest($from: Address!, $to: Address!) { answer: path(from: $from, to: $to) { ...Ways } }
`,
  [PATH_FIELDS],
);

export const SHORTEST_IF = graphql(
  `
  query ShortestIf($from: Address!, $to: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) { answer: path(from: $from, to: $to) { ...Ways baseline { ...Ways } } }
  }
`,
  [PATH_FIELDS],
);

export const WIDEST = graphql(
  `
  query Widest($from: Address!, $to: Address!) { answer: path(from: $from, to: $to, by: BANDWIDTH) { ...Ways } }
`,
  [PATH_FIELDS],
);

export const WIDEST_IF = graphql(
  `
  query WidestIf($from: Address!, $to: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) {
      answer: path(from: $from, to: $to, by: BANDWIDTH) { ...Ways baseline { ...Ways } }
    }
  }
`,
  [PATH_FIELDS],
);

export const BETWEEN = graphql(
  `
  query Between($from: Address!, $to: Address!) { answer: bandwidth(from: $from, to: $to) { ...Flow } }
`,
  [BANDWIDTH_FIELDS],
);

export const BETWEEN_IF = graphql(
  `
  query BetweenIf($from: Address!, $to: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) { answer: bandwidth(from: $from, to: $to) { ...Flow baseline { ...Flow } } }
  }
`,
  [BANDWIDTH_FIELDS],
);

const BISECTION_FIELDS = graphql(
  `
  fragment Halves on BisectionAnswer {
    definition exact method sideA sideB chipsA(first: 1000) { nodes }
    facts { ...Rests }
    lower { gigabytesPerSecond }
    upper { gigabytesPerSecond }
    cut(first: 300) { totalCount nodes { address bandwidth { gigabytesPerSecond } } }
  }
`,
  [FACT_FIELDS],
);

export const BISECTION = graphql(
  `
  query Bisection($scope: Address!) { answer: bisection(scope: $scope) { ...Halves } }
`,
  [BISECTION_FIELDS],
);

export const BISECTION_IF = graphql(
  `
  query BisectionIf($scope: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) { answer: bisection(scope: $scope) { ...Halves difference { incomparable } baseline { ...Halves } } }
  }
`,
  [BISECTION_FIELDS],
);

const POOL_FIELDS = graphql(
  `
  fragment Pool on PoolAnswer {
    definition scope chips
    facts { ...Rests }
    memory { gibibytes }
    own { gibibytes }
    byHops { hops chips memory { gibibytes } delivery { gigabytesPerSecond } reached { address } }
  }
`,
  [FACT_FIELDS],
);

export const MEMORY = graphql(
  `
  query Memory($scope: Address!) { answer: memoryPool(scope: $scope) { ...Pool } }
`,
  [POOL_FIELDS],
);

export const MEMORY_IF = graphql(
  `
  query MemoryIf($scope: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) { answer: memoryPool(scope: $scope) { ...Pool baseline { ...Pool } } }
  }
`,
  [POOL_FIELDS],
);

export type PathAnswer = Result<typeof PATH_FIELDS>;
export type BandwidthAnswer = Result<typeof BANDWIDTH_FIELDS>;
export type BisectionAnswer = Result<typeof BISECTION_FIELDS>;
export type PoolAnswer = Result<typeof POOL_FIELDS>;
export type SourceFact = Result<typeof FACT_FIELDS>;

/** An answer, and its baseline in a scenario. */
export type WithBaseline<T> = T & { baseline?: T | null; difference?: { incomparable: string | null } | null };
