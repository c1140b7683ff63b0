// GraphQL documents of the Incidents page, and how an incident is labelled.
import { graphql, makeQuery, type Result } from "../api";

const INCIDENTS = graphql(`
  query Incidents {
    incidents(first: 200) {
      totalCount
      edges {
        cursor
        node {
          id rule severity place causes causeCount independentFailures startedAt who why source truncated
          parts { kind state count }
          lastChange { time who why }
          instances { server instance host }
          findings { id rule address observed }
        }
      }
    }
    events(last: 1, filter: { after: { eq: UP }, cascaded: { eq: false } }) { nodes { at address who why } }
  }
`);

export type IncidentsAnswer = Result<typeof INCIDENTS>;
export type Incident = IncidentsAnswer["incidents"]["edges"][number]["node"];

export const QUERY = makeQuery(INCIDENTS, {});

/** The state that labels an incident: the worst of its causes. */
export const stateOf = ({ parts }: Incident) =>
  ["down", "degraded", "maintenance"].find((state) => parts.some((part) => part.state === state)) ?? "down";

export const placeOf = (incident: Incident) => incident.place ?? incident.causes[0] ?? "";
