// The jobs that incidents slow without hitting them.
import { graphql, makeQuery, runQuery, useLoaded } from "../api";

const SLOWER = graphql(`
  query SlowedJobs($after: String) {
    incidents(first: 1, after: $after) { nodes { id impact { domains { slowerJobs } } } }
  }
`);

/** Incidents that hit no job of which it is asked whether they slow some, since each is a question. */
const ASKED = 12;

interface Edge {
  cursor: string;
  node: { id: string; jobCount: number };
}

/** The jobs in a domain that lost bandwidth by an incident that hits none, by its id; undefined: not known. */
export function useSlowed(edges: readonly Edge[]): Map<string, string[]> | undefined {
  const asked = edges
    .map(({ node }, index) => ({ ...node, after: edges[index - 1]?.cursor ?? null }))
    .filter(({ jobCount }) => !jobCount)
    .slice(0, ASKED);
  const { data } = useLoaded(asked.length ? `slowed by ${asked.map(({ id }) => id)}` : null, async (signal) => {
    const answers = await Promise.all(asked.map(({ after }) => runQuery(makeQuery(SLOWER, { after }), signal)));
    return new Map(
      answers.flatMap(({ incidents }) =>
        incidents.nodes.map(({ id, impact }): [string, string[]] => [
          id,
          [...new Set(impact.domains.flatMap(({ slowerJobs }) => slowerJobs))],
        ]),
      ),
    );
  });
  return data;
}
