// The API: documents typed from schema.graphql, and one packed list of a cluster's chips.
import type { initGraphQLTada, ResultOf, VariablesOf } from "gql.tada";
import { useEffect, useRef, useState } from "preact/hooks";
import { type AsOf, asof, followChanges, noteAnswer, noteUnreachable, useAsOf } from "./live";
import type { introspection } from "./schema";

type Api = initGraphQLTada<{
  introspection: introspection;
  disableMasking: true;
  scalars: { Address: string; BigInt: string; JSON: unknown } & {
    [E in Enum]: Lowercase<introspection["types"][E]["enumValues"]>;
  };
}>;

/** Enums of the inventory, whose values are lower case on this side of the API, as in addresses and style sheets. */
type Enum =
  | "State"
  | "ChipUse"
  | "EventAction"
  | "Wiring"
  | "Generation"
  | "TrayKind"
  | "StepKind"
  | "PartKind"
  | "IncidentSeverity"
  | "IncidentRule"
  | "HitKind";
const ENUMS = new Set([
  "state",
  "use",
  "wiring",
  "generation",
  "kind",
  "before",
  "after",
  "action",
  "severity",
  "rule",
]);

const lowerEnums = (name: string, value: unknown) =>
  ENUMS.has(name) && typeof value === "string" ? value.toLowerCase() : value;

/** A document as its definitions; types come from the text, at run time it stays text. */
export const graphql = ((text: string, fragments: string[][] = []) => [
  ...new Set([text.trim(), ...fragments.flat()]),
]) as unknown as Api;

export type Result<D> = ResultOf<D>;

/** A document with its variables: what a view rests on. */
export interface Query<D = unknown> {
  document: D;
  variables: unknown;
  /** Of another moment than the page's; empty: of now. */
  at?: string | undefined;
}

export const makeQuery = <D>(document: D, variables: VariablesOf<D>): Query<D> => ({ document, variables });

const definitions = (document: unknown) => document as string[];

/** An answer of the service that is not the one asked for. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
  }
}

export const UNREACHABLE = "UNREACHABLE";
/** Codes of what may go well another time; without one: an answer that is not the service's own. */
const PASSING = ["", UNREACHABLE, "INTERNAL", "BUSY", "TIME_LIMIT", "DATABASE", "DATABASE_NOT_REACHABLE"];
export const isRetryable = ({ code }: ApiError) => PASSING.includes(code);

/** The service does not answer. */
export function unreachableError(): ApiError {
  noteUnreachable();
  return new ApiError("The service is not responding. Check that trninv serve is running.", UNREACHABLE);
}

const TOKEN = "trninv token";

/** Whether there is a token, good or not. */
export const hasToken = () => sessionStorage.getItem(TOKEN) !== null;

/** Keep a bearer token for as long as the tab is open. */
export function saveToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

async function request(path: string, options: RequestInit): Promise<Response> {
  const token = sessionStorage.getItem(TOKEN);
  const authorization = token ? { Authorization: `Bearer ${token}` } : {};
  try {
    return await fetch(path, { ...options, headers: { ...options.headers, ...authorization } });
  } catch (error) {
    throw error instanceof DOMException ? error : unreachableError();
  }
}

async function errorFrom(response: Response): Promise<ApiError> {
  const body = await response.json().catch(() => ({}));
  const error = body.errors?.[0];
  if (/\bNot Found\b/.test(error?.message ?? ""))
    return new ApiError("Not found. The Fleet page lists every cluster.", "NOT_FOUND");
  return new ApiError(error?.message ?? `${response.status} ${response.statusText}`, error?.extensions?.code ?? "");
}

let waiting = 0;

/** While an answer is awaited, also one that replaces what is shown, the page's root says so to whoever drives it. */
function countPending(more: 1 | -1): void {
  waiting += more;
  document.documentElement.toggleAttribute("data-asking", waiting > 0);
}

async function post(body: object, signal?: AbortSignal) {
  countPending(1);
  try {
    const response = await request("graphql", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal: signal ?? null,
    });
    if (!response.ok) throw await errorFrom(response);
    return JSON.parse(await response.text(), lowerEnums);
  } finally {
    countPending(-1);
  }
}

/** The answer to a document, of the moment that the page shows unless another one is asked for. */
export async function runQuery<D>({ document, variables, at }: Query<D>, signal?: AbortSignal): Promise<ResultOf<D>> {
  const { data, errors, extensions } = await post(
    { query: definitions(document).join("\n\n"), variables, at: (at ?? asof()) || undefined },
    signal,
  );
  if (at === undefined) noteAnswer(extensions?.asOf);
  followChanges(!hasToken(), fetchRevision);
  if (errors) throw new ApiError(errors[0].message, errors[0].extensions?.code ?? "");
  return data;
}

/** The newest state there is. */
async function fetchRevision(): Promise<AsOf | undefined> {
  return (await post({ query: "{ __typename }" })).extensions?.asOf;
}

/** What another address of the service holds, such as a report's CSV. */
export async function download(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  const query = asof() && `${path.includes("?") ? "&" : "?"}at=${encodeURIComponent(asof())}`;
  const response = await request(path + query, { signal: signal ?? null });
  if (!response.ok) throw await errorFrom(response);
  return response.arrayBuffer();
}

export interface Loaded<T> {
  data: T | undefined;
  error: ApiError | undefined;
  loading: boolean;
  /** Ask once more. */
  again?: () => void;
  query?: Query | null;
}

/** What a load gives, anew whenever the key or the moment changes; what was there before stays until then. */
export function useLoaded<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<Loaded<T>>({ data: undefined, error: undefined, loading: key !== null });
  const [tries, setTries] = useState(0);
  const { asof, epoch } = useAsOf();
  const shown = useRef("");
  useEffect(() => {
    if (key === null) {
      setState({ data: undefined, error: undefined, loading: false });
      return;
    }
    const control = new AbortController();
    const request = `${tries} ${asof} ${key}`;
    const isSame = request === shown.current;
    if (!isSame) setState((before) => ({ ...before, loading: true }));
    shown.current = request;
    load(control.signal).then(
      (data) => control.signal.aborted || setState({ data, error: undefined, loading: false }),
      (error) =>
        control.signal.aborted ||
        setState(({ data }) => ({
          data: isSame && error.code === UNREACHABLE ? data : undefined,
          error,
          loading: false,
        })),
    );
    return () => control.abort();
  }, [key, asof, epoch, tries]);
  return { ...state, again: () => setTries((before) => before + 1) };
}

/** What the page that is open rests on. */
export const openQueries = new Set<Query>();

export function useQuery<D>(query: Query<D> | null): Loaded<ResultOf<D>> {
  const key = query && JSON.stringify([definitions(query.document)[0], query.variables]);
  useEffect(() => {
    if (!query) return;
    openQueries.add(query);
    return () => {
      openQueries.delete(query);
    };
  }, [key]);
  return { ...useLoaded(key, (signal) => runQuery(query as Query<D>, signal)), query };
}

/** Requests for documents as a shell makes them. */
export function curl(all: Iterable<Query>): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const url = quoted(new URL("graphql", location.href).href);
  const body = (query: Query) => quoted(JSON.stringify({ query: printQueries([query]), at: asof() || undefined }));
  return [...all].map((query) => `curl ${url} -H 'Content-Type: application/json' -d ${body(query)}`).join("\n");
}

/** Documents with their variables written in, to be run anywhere. */
export function printQueries(all: Query[]): string {
  const parts = new Set<string>();
  const names = new Map<string, number>();
  for (const { document, variables } of all) {
    const [operation = "", ...fragments] = definitions(document);
    const values = variables as Record<string, unknown>;
    const named = (name: string) => {
      names.set(name, (names.get(name) ?? 0) + 1);
      return `query ${name}${names.get(name) === 1 ? "" : names.get(name)}`;
    };
    const plain = operation
      .replace(/^query (\w+)\s*(?:\([^)]*\))?/, (_, name: string) => `${named(name)} `)
      .replace(/\$(\w+)/g, (_, name: string) => literal(values[name]));
    for (const part of [plain, ...fragments]) parts.add(dedent(part));
  }
  return `${[...parts].join("\n\n")}\n`;
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (value && typeof value === "object") {
    return `{${Object.entries(value)
      .map(([name, item]) => `${name}: ${literal(item)}`)
      .join(", ")}}`;
  }
  return JSON.stringify(value ?? null);
}

function dedent(text: string): string {
  const lines = text.split("\n");
  const depth = Math.min(...lines.slice(1).flatMap((line) => (line.trim() ? [line.search(/\S/)] : [])));
  return lines.map((line, index) => (index ? line.slice(Number.isFinite(depth) ? depth : 0) : line)).join("\n");
}
