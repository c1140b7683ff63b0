// What a domain's worst incident costs two chips: one second before it → now.
import { graphql, type Loaded, makeQuery, type Query, useQuery } from "../api";
import { href } from "../route";
import { relativeTo } from "../words";
import { type BandwidthAnswer, BETWEEN, type PathAnswer, SHORTEST } from "./documents";
import { Metric } from "./metric";

const WORST = graphql(`
  query Worst($scope: Address!) { incidents(scope: $scope, first: 1) { nodes { id place causes causeCount startedAt } } }
`);

interface Props {
  domain: string;
  ends: { from: string; to: string };
  shortest: Loaded<PathAnswer>;
  flow: Loaded<BandwidthAnswer>;
}

export function IncidentCost({ domain, ends, shortest, flow }: Props) {
  const incident = useQuery(makeQuery(WORST, { scope: domain })).data?.incidents.nodes[0];
  const at = incident?.startedAt && new Date(Date.parse(incident.startedAt) - 1000).toISOString();
  const then = <D,>(query: Query<D>) => (at ? { ...query, at } : null);
  const before = useQuery(then(makeQuery(SHORTEST, ends))).data?.answer;
  const flowed = useQuery(then(makeQuery(BETWEEN, ends))).data?.answer;
  const [ways, most] = [shortest.data, flow.data];
  if (!incident || !ways || !most || !before || !flowed || shortest.loading || flow.loading) return null;
  if (before.source !== ends.from || before.target !== ends.to || flowed.target !== ends.to) return null;
  const metrics = [
    {
      name: "Shortest path",
      values: [before, ways].map(({ paths }) => paths[0]?.hops ?? null),
      unit: "hop",
      less: true,
    },
    { name: "Tied paths", values: [before.tiedPaths, ways.tiedPaths] },
    {
      name: "Maximum flow",
      values: [flowed, most].map((answer) => answer.maximumFlow.gigabytesPerSecond),
      unit: "GB/s",
    },
    { name: "Minimum cut", values: [flowed, most].map((answer) => answer.minimumCut.totalCount), unit: "link" },
  ].filter(({ values: [before, after] }) => before !== after);
  if (!metrics.length) return null;
  const { id, place, causes, causeCount } = incident;
  return (
    <section class="card flush" aria-label="Since the worst incident">
      <h2>
        Since the incident at {relativeTo(domain, (causeCount === 1 ? causes[0] : place) ?? domain)}
        <a class="more" href={href("incidents", "", { sel: id })}>
          incident {id}
        </a>
      </h2>
      <dl class="figures inner">
        {metrics.map(({ name, values: [before, after], ...how }) => (
          <Metric key={name} name={name} before={before} now={after ?? null} {...how} />
        ))}
      </dl>
    </section>
  );
}
