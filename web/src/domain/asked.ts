// The domain view's questions, of the wiring as it is or as it is supposed to be.
import { type Asked, asking, type Loaded, useAsked } from "../api";
import {
  BETWEEN,
  BETWEEN_IF,
  BISECTION,
  BISECTION_IF,
  type Halves,
  MEMORY,
  MEMORY_IF,
  type Pair,
  type Pool,
  type Supposed,
} from "./documents";

export interface Answers {
  pair: Loaded<Pair>;
  halves: Loaded<Supposed<Halves>>;
  pool: Loaded<Supposed<Pool>>;
  /** What was asked for all that is there. */
  asked: Asked[];
}

export function useAnswers(domain: string, from: string, to: string, down: string[]): Answers {
  const ends = { from, to };
  const broken = down.length > 0;
  const between = from && to ? (broken ? asking(BETWEEN_IF, { ...ends, down }) : asking(BETWEEN, ends)) : null;
  const bisection = broken ? asking(BISECTION_IF, { of: domain, down }) : asking(BISECTION, { of: domain });
  const memory = from ? (broken ? asking(MEMORY_IF, { of: from, down }) : asking(MEMORY, { of: from })) : null;
  const pair = useAnswer<Pair>(between);
  const halves = useAnswer<{ bisection: Supposed<Halves> }>(bisection);
  const pool = useAnswer<{ memoryPool: Supposed<Pool> }>(memory);
  return {
    pair: only(pair, pair.data, (of) => of.shortest.source === from && of.shortest.target === to),
    halves: only(halves, halves.data?.bisection, (of) => Boolean(of)),
    pool: only(pool, pool.data?.memoryPool, (of) => of.of === from),
    asked: [between, bisection, memory].filter((each) => each !== null),
  };
}

/** The answers in a scenario stand where those of the query do. */
function useAnswer<T>(asked: Asked | null): Loaded<T> {
  const loaded = useAsked<unknown>(asked);
  const data = loaded.data as { whatIf?: T } | undefined;
  return { ...loaded, data: data && (data.whatIf ?? (data as T)) };
}

/** Not the answer to what was asked before of other places. */
function only<T>(of: Loaded<unknown>, data: T | undefined, fits: (data: T) => boolean): Loaded<T> {
  return { ...of, data: data !== undefined && fits(data) ? data : undefined };
}
