// GraphQL documents of the page of a rack.
import { graphql, type Result } from "../api";
import { CAPABILITY } from "../part/documents";

export const RACK = graphql(`
  query Rack($address: Address!) {
    resolve(address: $address) {
      ... on Rack {
        address ordinal rackUnits
        cluster { slug racks(first: 1) { totalCount } }
        facts { attribute value quote formula assumed source { title } }
        servers(first: 36) {
          nodes {
            address ordinal state factor model instance host
            domain { address servers(first: 64) { nodes { rack { address } } } }
            trays { rackUnits }
            lastChange { at who why }
            chips(first: 64) { nodes { state job } }
            facts { attribute value quote formula assumed source { title } }
          }
        }
      }
    }
    chips: chips(filter: { rack: { eq: $address } }, first: 1) { aggregates(by: [STATE]) { state count } }
    nics: nics(filter: { rack: { eq: $address } }, first: 1) { aggregates(by: [STATE]) { state count } }
    switches: switches(filter: { rack: { eq: $address } }, first: 1) { totalCount aggregates(by: [STATE]) { state count } }
    unappliedFindingCount(scope: $address)
    incidents(scope: $address, first: 4) {
      totalCount
      nodes { id place causes causeCount why who startedAt jobs jobCount parts { kind state count } }
    }
  }
`);

export const COST = graphql(
  `
  query RackCost($address: Address!) {
    incidents(scope: $address, first: 1) {
      nodes {
        id
        impact { domains { ...Capability } }
      }
    }
  }
`,
  [CAPABILITY],
);

const IN_RACK = graphql(`
  fragment InRack on Located {
    ... on Chip { rack { ordinal } }
    ... on Switch { rack { ordinal } }
  }
`);

export const ROW = graphql(
  `
  query RackRow($cluster: Address!, $from: Int!, $to: Int!) {
    racks(filter: { cluster: { eq: $cluster }, ordinal: { gte: $from, lte: $to } }, first: 20) {
      nodes { address ordinal servers(first: 36) { nodes { address state } } }
    }
    servers(filter: { cluster: { eq: $cluster }, state: { ne: UP } }, first: 200) {
      nodes { address state rack { address ordinal } }
    }
    chips(filter: { cluster: { eq: $cluster }, state: { ne: UP } }, first: 500) {
      nodes { address state server { address state } rack { address ordinal } }
    }
    switches(filter: { cluster: { eq: $cluster }, state: { ne: UP } }, first: 200) { nodes { state rack { ordinal } } }
    links(filter: { cluster: { eq: $cluster }, state: { ne: UP } }, first: 200) {
      nodes { state a { ...InRack } b { ...InRack } }
    }
  }
`,
  [IN_RACK],
);

export type CostAnswer = Result<typeof COST>;
export type RackAnswer = Result<typeof RACK>;
export type Rack = Extract<RackAnswer["resolve"], { rackUnits: unknown }>;
export type RackServer = Rack["servers"]["nodes"][number];
export type RowAnswer = Result<typeof ROW>;
