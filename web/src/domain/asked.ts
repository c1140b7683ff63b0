// The domain view's questions, of the wiring as it is or as it is supposed to be.
import { type Asked, asking, type Loaded, useAsked } from "../api";
import {
  BETWEEN,
  BETWEEN_IF,
  BISECTION,
  BISECTION_IF,
  type Flow,
  type Halves,
  MEMORY,
  MEMORY_IF,
  type Pool,
  SHORTEST,
  SHORTEST_IF,
  type Supposed,
  type Ways,
  WIDEST,
  WIDEST_IF,
} from "./documents";
import type { Scenario } from "./scenario";

export interface Answers {
  shortest: Loaded<Supposed<Ways>>;
  widest: Loaded<Supposed<Ways>>;
  flow: Loaded<Supposed<Flow>>;
  halves: Loaded<Supposed<Halves>>;
  pool: Loaded<Supposed<Pool>>;
  /** What was asked for all that is there. */
  queries: Asked[];
}

export function useAnswers(domain: string, from: string, to: string, scenario: Scenario): Answers {
  const ends = from && to ? { from, to } : null;
  const supposed = scenario.down.length + scenario.derate.length > 0;
  const requests = {
    shortest: ends && (supposed ? asking(SHORTEST_IF, { ...ends, ...scenario }) : asking(SHORTEST, ends)),
    widest: ends && (supposed ? asking(WIDEST_IF, { ...ends, ...scenario }) : asking(WIDEST, ends)),
    flow: ends && (supposed ? asking(BETWEEN_IF, { ...ends, ...scenario }) : asking(BETWEEN, ends)),
    halves: supposed ? asking(BISECTION_IF, { scope: domain, ...scenario }) : asking(BISECTION, { scope: domain }),
    pool: from ? (supposed ? asking(MEMORY_IF, { scope: from, ...scenario }) : asking(MEMORY, { scope: from })) : null,
  };
  const between = (answer: { source: string; target: string }) => answer.source === from && answer.target === to;
  return {
    shortest: useAnswer<Ways>(requests.shortest, between),
    widest: useAnswer<Ways>(requests.widest, between),
    flow: useAnswer<Flow>(requests.flow, between),
    halves: useAnswer<Halves>(requests.halves, () => true),
    pool: useAnswer<Pool>(requests.pool, (pool) => pool.scope === from),
    queries: Object.values(requests).filter((query) => query !== null),
  };
}

/** The answer, in a scenario or not, unless it is to what was asked before of other places. */
function useAnswer<T>(query: Asked | null, fits: (data: T) => boolean): Loaded<Supposed<T>> {
  const loaded = useAsked<unknown>(query);
  const data = loaded.data as { answer?: Supposed<T>; whatIf?: { answer: Supposed<T> } } | undefined;
  const answer = data?.whatIf?.answer ?? data?.answer;
  return { ...loaded, data: answer && fits(answer) ? answer : undefined };
}
