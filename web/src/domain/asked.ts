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
  asked: Asked[];
}

export function useAnswers(domain: string, from: string, to: string, scenario: Scenario): Answers {
  const ends = from && to ? { from, to } : null;
  const supposed = scenario.down.length + scenario.derate.length > 0;
  const asked = {
    shortest: ends && (supposed ? asking(SHORTEST_IF, { ...ends, ...scenario }) : asking(SHORTEST, ends)),
    widest: ends && (supposed ? asking(WIDEST_IF, { ...ends, ...scenario }) : asking(WIDEST, ends)),
    flow: ends && (supposed ? asking(BETWEEN_IF, { ...ends, ...scenario }) : asking(BETWEEN, ends)),
    halves: supposed ? asking(BISECTION_IF, { scope: domain, ...scenario }) : asking(BISECTION, { scope: domain }),
    pool: from ? (supposed ? asking(MEMORY_IF, { scope: from, ...scenario }) : asking(MEMORY, { scope: from })) : null,
  };
  const between = (of: { source: string; target: string }) => of.source === from && of.target === to;
  return {
    shortest: useAnswer<Ways>(asked.shortest, between),
    widest: useAnswer<Ways>(asked.widest, between),
    flow: useAnswer<Flow>(asked.flow, between),
    halves: useAnswer<Halves>(asked.halves, () => true),
    pool: useAnswer<Pool>(asked.pool, (pool) => pool.scope === from),
    asked: Object.values(asked).filter((each) => each !== null),
  };
}

/** The answer, in a scenario or not, unless it is to what was asked before of other places. */
function useAnswer<T>(asked: Asked | null, fits: (data: T) => boolean): Loaded<Supposed<T>> {
  const loaded = useAsked<unknown>(asked);
  const data = loaded.data as { answer?: Supposed<T>; whatIf?: { answer: Supposed<T> } } | undefined;
  const answer = data?.whatIf?.answer ?? data?.answer;
  return { ...loaded, data: answer && fits(answer) ? answer : undefined };
}
