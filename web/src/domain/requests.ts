// The domain view's questions, of the wiring as it is or as it is supposed to be.
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
  /** What was asked for all that is there. */
  queries: Query[];
}

export function useAnswers(domain: string, from: string, to: string, scenario: Scenario): Answers {
  const ends = from && to ? { from, to } : null;
  const supposed = scenario.down.length + scenario.derate.length > 0;
  const requests = {
    shortest: ends && (supposed ? makeQuery(SHORTEST_IF, { ...ends, ...scenario }) : makeQuery(SHORTEST, ends)),
    widest: ends && (supposed ? makeQuery(WIDEST_IF, { ...ends, ...scenario }) : makeQuery(WIDEST, ends)),
    flow: ends && (supposed ? makeQuery(BETWEEN_IF, { ...ends, ...scenario }) : makeQuery(BETWEEN, ends)),
    halves: supposed
      ? makeQuery(BISECTION_IF, { scope: domain, ...scenario })
      : makeQuery(BISECTION, { scope: domain }),
    pool: from
      ? supposed
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

/** The answer, in a scenario or not, unless it is to what was asked before of other places. */
function useAnswer<T>(query: Query | null, fits: (data: T) => boolean): Loaded<WithBaseline<T>> {
  const loaded = useQuery<unknown>(query);
  const data = loaded.data as { answer?: WithBaseline<T>; whatIf?: { answer: WithBaseline<T> } } | undefined;
  const answer = data?.whatIf?.answer ?? data?.answer;
  return { ...loaded, data: answer && fits(answer) ? answer : undefined };
}
