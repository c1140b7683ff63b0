// GraphQL documents of the palette: what the typed text may mean.
import { graphql, type Result } from "../api";

export const SEARCH = graphql(`
  query Search($text: String!, $near: Address) {
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
