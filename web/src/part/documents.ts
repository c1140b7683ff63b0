// GraphQL documents of the pages of a server and of a chip.
import { graphql, type Result } from "../api";
import { EVENT_FIELDS, WIRE_WITH_ENDS } from "../panel/documents";

/** A server with what surrounds it: its domain's wiring and its rack. */
const SURROUNDINGS = graphql(
  `
  fragment Surroundings on Server {
    address ordinal state model instance host vcpus
    hostMemory { gibibytes }
    lastChange { ...Changed }
    chips(first: 64) { nodes { address ordinal state tray job use lastChange { why } } }
    nics(first: 64) { nodes { address ordinal state factor bandwidth { gigabytesPerSecond } } }
    rack {
      address ordinal rackUnits
      servers(first: 36) { nodes { address ordinal state trays { ordinal kind rackUnits } } }
    }
    domain {
      address model wiring
      servers(first: 64) { nodes { rack { address } } }
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
`,
  [EVENT_FIELDS],
);

const LAYOUT_FIELDS = graphql(`
  fragment Placed on Layout {
    box { x y width height }
    font
    strokeWidth
    panels { x y width height }
    labels { text x y anchor strong }
    places { address x y width height text sign solid { x y z } }
    routes { address strokes sign }
    wrapLinks
  }
`);

const HISTORY_FIELDS = graphql(
  `
  fragment History on EventConnection { totalCount nodes { ...Changed address batch } }
`,
  [EVENT_FIELDS],
);

export const SERVER = graphql(
  `
  query ServerPage($address: Address!, $domain: Address!, $inside: String!, $narrow: Boolean!) {
    unappliedFindingCount(scope: $address)
    incidents(scope: $address, first: 1) { nodes { id } }
    cordons(scope: $address, first: 1) { nodes { why who startedAt } }
    allLinks: links(filter: { domain: { eq: $domain }, address: { contains: $inside } }, first: 1) { totalCount }
    idleLinks: links(
      filter: { domain: { eq: $domain }, address: { contains: $inside }, bandwidth: { eq: { bytesPerSecond: "0" } } }
      first: 1
    ) { totalCount }
    nicLinks: links(
      filter: { domain: { eq: $domain }, address: { contains: $inside }, scope: { in: [HOST, FABRIC] } }
      first: 1
    ) { totalCount }
    layout(place: $address, narrow: $narrow) { ...Placed }
    events(scope: $address, last: 500) { ...History }
    resolve(address: $address) { __typename ... on Server { factor ...Surroundings } }
  }
`,
  [SURROUNDINGS, LAYOUT_FIELDS, HISTORY_FIELDS],
);

export const CHIP = graphql(
  `
  query ChipPage($address: Address!) {
    unappliedFindingCount(scope: $address)
    incidents(scope: $address, first: 1) { nodes { id } }
    events(scope: $address, last: 100) { ...History }
    resolve(address: $address) {
      __typename
      ... on Chip {
        address state factor tray job use
        memory { gibibytes }
        memoryBandwidth { gigabytesPerSecond }
        model { name coreModel }
        cores(first: 1) { totalCount }
        lastChange { ...Changed }
        links(first: 64) { nodes { ...WireWithEnds } }
        server { ...Surroundings }
      }
    }
  }
`,
  [SURROUNDINGS, HISTORY_FIELDS, EVENT_FIELDS, WIRE_WITH_ENDS],
);

/** What a domain could do before an incident, and now. */
export const CAPABILITY = graphql(`
  fragment Capability on DomainImpact {
    domain chipsBefore chipsNow idleLinksBefore idleLinksNow incomparable
    poolBefore { gibibytes }
    poolNow { gibibytes }
    bisectionBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    bisectionNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    allGatherBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    allGatherNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
  }
`);

/** What the domain of an incident lost by it. */
export const LOSS = graphql(
  `
  query Loss($scope: Address!, $domain: Address!) {
    chips(filter: { domain: { eq: $domain } }, first: 1) { aggregates(by: [STATE]) { state count } }
    incidents(scope: $scope, first: 1) { nodes { impact { domains { ...Capability } } } }
  }
`,
  [CAPABILITY],
);

export type ServerAnswer = Result<typeof SERVER>;
export type ServerPart = Extract<ServerAnswer["resolve"], { vcpus: unknown }>;
export type Surroundings = Omit<ServerPart, "__typename" | "factor">;
export type ChipPart = Extract<Result<typeof CHIP>["resolve"], { tray: unknown }>;
export type Capability = Result<typeof CAPABILITY>;
export type LayoutAnswer = ServerAnswer["layout"];
export type HistoryAnswer = ServerAnswer["events"];
export type PastEvent = HistoryAnswer["nodes"][number];
