// GraphQL documents of the palette: what the typed text may mean.
import { graphql, makeQuery, type Result } from "../api";

export const SEARCH = graphql(`
  query Search($text: String!, $near: Address, $incident: String, $isNumber: Boolean!) {
    closedIncidents(first: 1, filter: { id: { eq: $incident } }) @include(if: $isNumber) {
      nodes { id place causes why startedAt closedAt parts { state } }
    }
    search(text: $text, near: $near) {
      kind name address
      target {
        ... on Chip { state }
        ... on Server { state }
        ... on Switch { state }
        ... on Nic { state }
        ... on NetworkNode { state }
        ... on Link { state }
      }
    }
  }
`);

export type Hit = Result<typeof SEARCH>["search"][number];

/** What is few enough to be matched here, in spite of typing errors. */
const CATALOG = graphql(`
  query PaletteCatalog {
    clusters(first: 1000) { nodes { slug system } }
    jobs(first: 500) { nodes { name cluster chips } }
    reports { name title summary }
    incidents(first: 100) { totalCount nodes { id place causes why who startedAt parts { state } } }
  }
`);

export const CATALOG_QUERY = makeQuery(CATALOG, {});

export type Catalog = Result<typeof CATALOG>;
export type Incident = Omit<Catalog["incidents"]["nodes"][number], "who"> & { closedAt?: string };

/** Changes by a word of their reasons, also those of closed incidents. */
export const REASONS = graphql(`
  query Reasons($text: String!) {
    events(last: 6, filter: { cascaded: { eq: false }, why: { containsIgnoreCase: $text } }) {
      nodes { event at address why who before after action job movedFrom }
    }
  }
`);

export type Reason = Result<typeof REASONS>["events"]["nodes"][number];
