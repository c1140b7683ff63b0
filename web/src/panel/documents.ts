// GraphQL documents of the panel.
import { graphql, type Result } from "../api";

export const EVENT_FIELDS = graphql(`
  fragment Changed on Event { event at who why before after action job movedFrom cascaded }
`);

const WIRE = graphql(`
  fragment Wire on Link {
    address state factor technology
    bandwidth { gigabytesPerSecond }
    nominal { gigabytesPerSecond }
    a { address }
    b { address }
  }
`);

const END = graphql(`
  fragment End on Located {
    address
    ... on Chip { state }
    ... on Switch { state }
    ... on Nic { state }
    ... on NetworkNode { state }
  }
`);

/** A link of a chip with the states of both ends. */
export const WIRE_WITH_ENDS = graphql(
  `
  fragment WireWithEnds on Link {
    address state factor technology scope cables
    bandwidth { gigabytesPerSecond }
    nominal { gigabytesPerSecond }
    a { ...End }
    b { ...End }
  }
`,
  [END],
);

export const PANEL = graphql(
  `
  query Panel($address: Address!) {
    unappliedFindingCount(scope: $address)
    incidents(scope: $address, first: 3) { totalCount nodes { id place startedAt who why severity } }
    resolve(address: $address) {
      __typename
      address
      ... on Chip {
        state factor tray job use generation
        memory { gibibytes }
        memoryBandwidth { gigabytesPerSecond }
        model { name coreModel }
        cores(first: 1) { totalCount }
        server { address instance host state }
        rack { address }
        lastChange { ...Changed }
        links(first: 16) { totalCount nodes { ...Wire } }
        events(last: 5) { totalCount nodes { ...Changed } }
      }
      ... on Server {
        state factor instance host vcpus
        serverModel: model
        hostMemory { gibibytes }
        rack { address }
        domain { address }
        chips(first: 16) { totalCount nodes { address state job } }
        nics(first: 16) { totalCount nodes { address state } }
        lastChange { ...Changed }
        events(last: 5) { totalCount nodes { ...Changed } }
      }
      ... on Switch {
        state factor
        switchModel: model { name }
        within: server { address instance host state }
        rack { address }
        lastChange { ...Changed }
        links(first: 16) { totalCount nodes { ...Wire } }
        events(last: 5) { totalCount nodes { ...Changed } }
      }
      ... on Nic {
        state factor
        bandwidth { gigabytesPerSecond }
        server { address instance host state }
        rack { address }
        lastChange { ...Changed }
        links(first: 8) { totalCount nodes { ...Wire } }
        events(last: 5) { totalCount nodes { ...Changed } }
      }
      ... on NetworkNode {
        state factor tier vendorId
        lastChange { ...Changed }
        links(first: 16) { totalCount nodes { ...Wire } }
        events(last: 5) { totalCount nodes { ...Changed } }
      }
      ... on Link {
        state factor technology cables scope
        bandwidth { gigabytesPerSecond }
        nominal { gigabytesPerSecond }
        a { ...End }
        b { ...End }
        lastChange { ...Changed }
        events(last: 5) { totalCount nodes { ...Changed } }
      }
    }
  }
`,
  [EVENT_FIELDS, WIRE, END],
);

export type PanelAnswer = Result<typeof PANEL>["resolve"];
export type PanelPart = Extract<PanelAnswer, { state: unknown }>;
export type Wire = Result<typeof WIRE>;
export type PartEvent = Result<typeof EVENT_FIELDS>;
