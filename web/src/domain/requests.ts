// The questions of the domain view, with or without a scenario.
import { type Loaded, makeQuery, type Query, useQuery } from "../api";
import {
  type BandwidthAnswer,
  BETWEEN,
  BETWEEN_IF,
  BISECTION,
  BISECTION_IF,
  type BisectionAnswer,
  MEMORY,
  MEMORY_IF,
  type PathAnswer,
  type PoolAnswer,
  SHORTEST,
  SHORTEST_IF,
  WIDEST,
  WIDEST_IF,
  type WithBaseline,
} from "./documents";
import type { Scenario } from "./scenario";

export interface Answers {
  shortest: Loaded<WithBaseline<PathAnswer>>;
  widest: Loaded<WithBaseline<PathAnswer>>;
  flow: Loaded<WithBaseline<BandwidthAnswer>>;
  halves: Loaded<WithBaseline<BisectionAnswer>>;
  pool: Loaded<WithBaseline<PoolAnswer>>;
  /** The queries of everything on the page. */
  queries: Query[];
}

export function useAnswers(domain: string, from: string, to: string, scenario: Scenario): Answers {
  const ends = from && to ? { from, to } : null;
  const assumed = scenario.down.length + scenario.derate.length > 0;
  const requests = {
    shortest: ends && (assumed ? makeQuery(SHORTEST_IF, { ...ends, ...scenario }) : makeQuery(SHORTEST, ends)),
    widest: ends && (assumed ? makeQuery(WIDEST_IF, { ...ends, ...scenario }) : makeQuery(WIDEST, ends)),
    flow: ends && (assumed ? makeQuery(BETWEEN_IF, { ...ends, ...scenario }) : makeQuery(BETWEEN, ends)),
    halves: assumed ? makeQuery(BISECTION_IF, { scope: domain, ...scenario }) : makeQuery(BISECTION, { scope: domain }),
    pool: from
      ? assumed
        ? makeQuery(MEMORY_IF, { scope: from, ...scenario })
        : makeQuery(MEMORY, { scope: from })
      : null,
  };
  const between = (answer: { source: string; target: string }) => answer.source === from && answer.target === to;
  return {
    shortest: useAnswer<PathAnswer>(requests.shortest, between),
    widest: useAnswer<PathAnswer>(requests.widest, between),
    flow: useAnswer<BandwidthAnswer>(requests.flow, between),
    halves: useAnswer<BisectionAnswer>(requests.halves, () => true),
    pool: useAnswer<PoolAnswer>(requests.pool, (pool) => pool.scope === from),
    queries: Object.values(requests).filter((query) => query !== null),
  };
}

/** The answer, unless it belongs to earlier ends. */
function useAnswer<T>(query: Query | null, fits: (data: T) => boolean): Loaded<WithBaseline<T>> {
  const loaded = useQuery<unknown>(query);
  const data = loaded.data as { answer?: WithBaseline<T>; whatIf?: { answer: WithBaseline<T> } } | undefined;
  const answer = data?.whatIf?.answer ?? data?.answer;
  return { ...loaded, data: answer && fits(answer) ? answer : undefined };
}
