// The jobs that incidents slow without hitting them.
import { graphql, makeQuery, useQuery } from "../api";

/** The worst incidents that hit no job: what those cost is one request, of all others one for each few. */
const SLOWER = makeQuery(
  graphql(`
    query SlowedJobs {
      incidents(first: 3, filter: { jobCount: { eq: 0 } }) { nodes { id impact { domains { slowerJobs } } } }
    }
  `),
  {},
);

/** The jobs in a domain that lost bandwidth by an incident that hits none, by its id; undefined: not known. */
export function useSlowed(incidents: readonly { jobCount: number }[]): Map<string, string[]> | undefined {
  const { data } = useQuery(incidents.some(({ jobCount }) => !jobCount) ? SLOWER : null);
  return (
    data &&
    new Map(
      data.incidents.nodes.map(({ id, impact }) => [
        id,
        [...new Set(impact.domains.flatMap(({ slowerJobs }) => slowerJobs))],
      ]),
    )
  );
}
