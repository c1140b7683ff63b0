// The client of the API: documents typed from schema.graphql, and the packed list of a cluster's chips.
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

/** Enums whose values are lower case in the pages, as in addresses and style sheets. */
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
  | "HitKind"
  | "ReservationKind"
  | "SourceKind";
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

/** A document; its types come from the schema, and at run time it is text. */
export const graphql = ((text: string, fragments: string[][] = []) => [
  ...new Set([text.trim(), ...fragments.flat()]),
]) as unknown as Api;

export type Result<D> = ResultOf<D>;

/** A document with its variables. */
export interface Query<D = unknown> {
  document: D;
  variables: unknown;
  /** A time other than the page's; empty: now. */
  at?: string | undefined;
}

export const makeQuery = <D>(document: D, variables: VariablesOf<D>): Query<D> => ({ document, variables });

const definitions = (document: unknown) => document as string[];

/** An error that the service answered. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
  }
}

export const UNREACHABLE = "UNREACHABLE";
/** Codes after which a retry can succeed; "" is an answer that did not come from the service. */
const PASSING = ["", UNREACHABLE, "INTERNAL", "BUSY", "TIME_LIMIT", "DATABASE", "DATABASE_NOT_REACHABLE"];
export const isRetryable = ({ code }: ApiError) => PASSING.includes(code);

/** The service cannot be reached. */
export function unreachableError(): ApiError {
  noteUnreachable();
  return new ApiError("The service is not responding. Check that trninv serve is running.", UNREACHABLE);
}

const TOKEN = "trninv token";

/** Whether a token is stored, valid or not. */
export const hasToken = () => sessionStorage.getItem(TOKEN) !== null;

/** Store a bearer token until the tab is closed. */
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

/** Mark the page's root as busy while requests run, for tests and tools that drive the page. */
function countPending(more: 1 | -1): void {
  waiting += more;
  document.documentElement.toggleAttribute("data-asking", waiting > 0);
}

async function postText(path: string, body: object, signal?: AbortSignal): Promise<string> {
  countPending(1);
  try {
    const response = await request(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal: signal ?? null,
    });
    if (!response.ok) throw await errorFrom(response);
    return await response.text();
  } finally {
    countPending(-1);
  }
}

const post = async (body: object, signal?: AbortSignal) =>
  JSON.parse(await postText("graphql", body, signal), lowerEnums);

/** Post to a route such as sql, at the page's time, and return its JSON as it is. */
export const postJson = async (path: string, body: object, signal?: AbortSignal) =>
  JSON.parse(await postText(path, { ...body, at: asof() || undefined }, signal));

/** Request a document at the page's time, unless the query has its own. */
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

/** Get the current revision. */
async function fetchRevision(): Promise<AsOf | undefined> {
  return (await post({ query: "{ __typename }" })).extensions?.asOf;
}

/** Get another route of the service, such as a report's CSV, at the page's time or another; empty: now. */
export async function download(path: string, signal?: AbortSignal, at = asof()): Promise<ArrayBuffer> {
  const query = at && `${path.includes("?") ? "&" : "?"}at=${encodeURIComponent(at)}`;
  countPending(1);
  try {
    const response = await request(path + query, { signal: signal ?? null });
    if (!response.ok) throw await errorFrom(response);
    return await response.arrayBuffer();
  } finally {
    countPending(-1);
  }
}

export interface Loaded<T> {
  data: T | undefined;
  error: ApiError | undefined;
  loading: boolean;
  /** Repeat the request. */
  again?: () => void;
  query?: Query | null;
}

/** Load again whenever the key or the page's time changes; keep the earlier data until then. */
export function useLoaded<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<Loaded<T>>({ data: undefined, error: undefined, loading: key !== null });
  const [tries, setTries] = useState(0);
  const { asof, epoch } = useAsOf();
  const shown = useRef("");
  const request = `${tries} ${asof} ${key}`;
  useEffect(() => {
    if (key === null) {
      shown.current = "";
      setState({ data: undefined, error: undefined, loading: false });
      return;
    }
    const control = new AbortController();
    const isSame = request === shown.current;
    if (!isSame) setState((before) => ({ ...before, error: undefined, loading: true }));
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
  // the effect that asks runs after this page is painted
  const isAsked = key === null || request === shown.current;
  const again = () => setTries((before) => before + 1);
  return { data: state.data, error: isAsked ? state.error : undefined, loading: state.loading || !isAsked, again };
}

/** The queries of the open page. */
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

/** Queries as curl commands. */
export function curl(all: Iterable<Query>): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const url = quoted(new URL("graphql", location.href).href);
  const body = (query: Query) => quoted(JSON.stringify({ query: printQueries([query]), at: asof() || undefined }));
  return [...all].map((query) => `curl ${url} -H 'Content-Type: application/json' -d ${body(query)}`).join("\n");
}

/** Queries with their variables filled in, to run anywhere. */
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
