// GraphQL documents of the Incidents page, and how an incident is labelled.
import { graphql, makeQuery, type Result, runQuery } from "../api";

const INCIDENTS = graphql(`
  query Incidents {
    unappliedFindingCount
    clusters(first: 1) { totalCount }
    incidents(first: 200) {
      totalCount
      edges {
        cursor
        node {
          id rule severity place causes causeCount independentFailures startedAt who why source truncated
          chipsLost jobs jobCount
          bandwidthLost { gigabytesPerSecond }
          parts { kind state count }
          lastChange { time who why }
          instances { server instance host }
          findings { id rule address observed }
        }
      }
    }
  }
`);

const CLOSED = graphql(`
  query ClosedIncidents {
    closedIncidents(first: 200) {
      totalCount
      nodes {
        id severity place causes causeCount why who startedAt closedAt closedBy closedWhy
        parts { kind state count }
        chipsLost jobs jobCount
        bandwidthLost { gigabytesPerSecond }
      }
    }
  }
`);

const NOTES = graphql(`
  query IncidentNotes($incident: String!) {
    incidentNotes(filter: { incident: { eq: $incident } }, last: 100) { totalCount nodes { writtenAt who text } }
  }
`);

const WRITE_NOTE = graphql(`
  mutation NoteIncident($input: NoteIncidentInput!) { noteIncident(input: $input) { note { writtenAt } } }
`);

export type IncidentsAnswer = Result<typeof INCIDENTS>;
export type Incident = IncidentsAnswer["incidents"]["edges"][number]["node"];
export type ClosedIncident = Result<typeof CLOSED>["closedIncidents"]["nodes"][number];

export const QUERY = makeQuery(INCIDENTS, {});
export const CLOSED_QUERY = makeQuery(CLOSED, {});
export const notesQuery = (incident: string) => makeQuery(NOTES, { incident });
export const writeNote = (incident: string, text: string, who: string | null) =>
  runQuery({ ...makeQuery(WRITE_NOTE, { input: { incident, text, who } }), at: "" });

/** The state that labels an incident: the worst of its causes. */
export const stateOf = ({ parts }: { parts: readonly { state: string }[] }) =>
  ["down", "degraded", "maintenance"].find((state) => parts.some((part) => part.state === state)) ?? "down";

export const placeOf = (incident: Pick<Incident, "place" | "causes">) => incident.place ?? incident.causes[0] ?? "";

/** Whether an incident's id is a number that people can say; it is an address if its first change is not known. */
export const isNumber = (id: string) => /^\d+$/.test(id);

export const SEVERITIES = { high: "High", medium: "Medium", low: "Low", info: "Planned" };
export type Severity = Incident["severity"];
