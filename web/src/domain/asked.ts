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
  const both = Boolean(from && to);
  const broken = down.length > 0;
  const between = both ? (broken ? asking(BETWEEN_IF, { ...ends, down }) : asking(BETWEEN, ends)) : null;
  const bisection = broken ? asking(BISECTION_IF, { of: domain, down }) : asking(BISECTION, { of: domain });
  const memory = from ? (broken ? asking(MEMORY_IF, { of: from, down }) : asking(MEMORY, { of: from })) : null;
  return {
    pair: supposed(useAsked<unknown>(between)),
    halves: one(supposed(useAsked<unknown>(bisection)), "bisection"),
    pool: one(supposed(useAsked<unknown>(memory)), "memoryPool"),
    asked: [between, bisection, memory].filter((each) => each !== null),
  };
}

/** The answers in a scenario stand where those of the query do. */
function supposed<T>(of: Loaded<unknown>): Loaded<T> {
  const data = of.data as { whatIf?: T } | undefined;
  return { ...of, data: data && (data.whatIf ?? (data as T)) };
}

function one<T>(of: Loaded<Record<string, T>>, name: string): Loaded<T> {
  return { ...of, data: of.data?.[name] };
}
