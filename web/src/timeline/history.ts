// What was not up over a time, and what changed: of one or several places.
import { graphql, makeQuery, type Result, runQuery, useLoaded } from "../api";

const PAST = graphql(`
  query Past($scope: Address!, $since: String, $buckets: Int!) {
    timeline(scope: $scope, since: $since, buckets: $buckets) { since until buckets { start end worst { total } } }
  }
`);

const CHANGES = graphql(`
  query PastEvents($scope: Address, $since: String) {
    events(last: 500, scope: $scope, since: $since, filter: { cascaded: { eq: false }, action: { eq: null } }) {
      totalCount
      nodes { event at address before after why }
    }
  }
`);

const PLACES = graphql(`
  query PastPlaces { clusters(first: 100) { nodes { address } } }
`);

export type Change = Result<typeof CHANGES>["events"]["nodes"][number];

export interface History {
  since: number;
  until: number;
  /** When what is known begins. */
  historyStart: number;
  /** Parts not up in each part of the time, the most at once of each place added up. */
  counts: number[];
  changes: Change[];
  /** Changes that are older than those. */
  olderChanges: number;
  /** Places left out. */
  omitted: number;
}

const BUCKETS = 120;
/** Places that are asked about one by one. */
const MOST = 16;

export const SPANS = { "24h": 24, "7d": 24 * 7, "30d": 24 * 30, all: 0 };
export type Span = keyof typeof SPANS;

/** Of a place, or of all clusters; always up to now, whichever moment the page shows. */
export function useHistory(scope: string | undefined, span: Span) {
  return useLoaded(`past ${scope} ${span}`, async (signal): Promise<History> => {
    const until = Date.now();
    const hours = SPANS[span];
    const since = hours ? new Date(until - hours * 3_600_000).toISOString() : null;
    const now = <D>(query: { document: D; variables: unknown }) => runQuery({ ...query, at: "" }, signal);
    const places = scope ? [scope] : (await now(makeQuery(PLACES, {}))).clusters.nodes.map(({ address }) => address);
    const [events, ...answers] = await Promise.all([
      now(makeQuery(CHANGES, { scope: scope ?? null, since })),
      ...places.slice(0, MOST).map((place) => now(makeQuery(PAST, { scope: place, since, buckets: BUCKETS }))),
    ]);
    const lines = answers.map(({ timeline }) => timeline);
    const historyStart = Math.min(until, ...lines.map((line) => Date.parse(line.since)));
    const begin = since ? Date.parse(since) : historyStart;
    return {
      since: begin,
      until,
      historyStart,
      counts: sumLines(lines, begin, until),
      changes: events.events.nodes,
      olderChanges: events.events.totalCount - events.events.nodes.length,
      omitted: Math.max(0, places.length - MOST),
    };
  });
}

type Line = Result<typeof PAST>["timeline"];

/** Lines of several places on one scale: of each the most in every part of the time, added up. */
function sumLines(lines: Line[], since: number, until: number): number[] {
  const counts = new Array<number>(BUCKETS).fill(0);
  const bucketAt = (time: string) => ((Date.parse(time) - since) / Math.max(1, until - since)) * BUCKETS;
  for (const line of lines) {
    const own = new Array<number>(BUCKETS).fill(0);
    for (const { start, end, worst } of line.buckets) {
      const [first, last] = [
        Math.max(0, Math.floor(bucketAt(start))),
        Math.min(BUCKETS - 1, Math.ceil(bucketAt(end)) - 1),
      ];
      for (let bucket = first; bucket <= last; bucket++) own[bucket] = Math.max(own[bucket] ?? 0, worst.total);
    }
    for (const [bucket, count] of own.entries()) counts[bucket] = (counts[bucket] ?? 0) + count;
  }
  return counts;
}
