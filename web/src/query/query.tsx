// The Query page: SQL and Cypher that the user writes, and their rows.

import TABLES from "virtual:tables";
import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, postJson } from "../api";
import { useViewer } from "../change/proposal";
import { useNarrow } from "../domain/wiring";
import { useAsOf } from "../live";
import { CopyButton, Failure } from "../parts";
import { change, href, oneOf } from "../route";
import "../style/query.css";
import { type Cell, csv, type Rows } from "../table/rows";
import { DataTable, useVisibleRows } from "../table/table";
import { pluralize } from "../words";
import { EXAMPLES, type Example, type Language } from "./examples";

const TABS: Record<Language, string> = { sql: "SQL", cypher: "Cypher" };

/** Longer texts do not go into the address of the page. */
const MOST = 4096;

/** Lines of the field for an empty query. */
const LEAST_LINES = 4;

/** What was typed in each tab, until the page is left. */
const drafts: Partial<Record<Language, string>> = {};

interface Body {
  columns: string[];
  rows: Record<string, unknown>[];
  truncated: boolean;
}

interface Outcome {
  rows?: Rows & { truncated: boolean };
  error?: ApiError;
  /** How long it took, in milliseconds. */
  took: number;
}

/** Cells of a table; lists and objects as JSON. */
const cellOf = (value: unknown): Cell =>
  value === null || value === undefined
    ? null
    : typeof value === "object"
      ? JSON.stringify(value)
      : (value as string | number | boolean);

const rowsOf = ({ columns, rows, truncated }: Body) => ({
  columns,
  truncated,
  rows: rows.map((row) => columns.map((column) => cellOf(row[column]))),
});

export function Query({ options }: { options: Record<string, string> }) {
  const language = oneOf(TABS, options.lang, "sql");
  return (
    <article>
      <header class="title">
        <h1>Query</h1>
        <nav class="tabs" aria-label="Language">
          {(Object.keys(TABS) as Language[]).map((tab) => (
            <a
              key={tab}
              href={href("query", "", { lang: tab === "sql" ? undefined : tab })}
              aria-current={tab === language ? "page" : undefined}
            >
              {TABS[tab]}
            </a>
          ))}
          <a href="graphql">GraphiQL</a>
        </nav>
      </header>
      <Editor key={language} language={language} options={options} />
    </article>
  );
}

function useOutcome(language: Language) {
  const [outcome, setOutcome] = useState<Outcome>();
  const [isRunning, setRunning] = useState(false);
  const control = useRef<AbortController>(undefined);
  const { asof } = useAsOf();
  useEffect(() => () => control.current?.abort(), []);
  useEffect(() => setOutcome(undefined), [asof]);
  const run = (text: string) => {
    control.current?.abort();
    control.current = new AbortController();
    const { signal } = control.current;
    const begun = performance.now();
    setRunning(true);
    const finish = (result: Omit<Outcome, "took">) => {
      if (signal.aborted) return;
      setRunning(false);
      setOutcome({ ...result, took: performance.now() - begun });
    };
    postJson(language, { [language]: text }, signal).then(
      (body: Body) => finish({ rows: rowsOf(body) }),
      (error: ApiError) => finish({ error }),
    );
  };
  const stop = () => {
    control.current?.abort();
    setRunning(false);
  };
  return { outcome, isRunning, run, stop };
}

interface EditorProps {
  language: Language;
  options: Record<string, string>;
}

function Editor({ language, options }: EditorProps) {
  const examples = EXAMPLES[language];
  const [text, setText] = useState(options.text ?? drafts[language] ?? examples[0]?.text ?? "");
  const { outcome, isRunning, run, stop } = useOutcome(language);
  const viewer = useViewer();
  useEffect(() => {
    // what the pages wrote answers at once; Cypher may have to build its graph first
    const isOwn = examples.some((example) => example.text === text);
    if (language === "sql" && isOwn) run(text);
  }, []);
  const lacks = viewer && !viewer.scopes.includes("SQL");
  const type = (typed: string) => {
    drafts[language] = typed;
    setText(typed);
  };
  const start = (query: string) => {
    if (!query.trim() || lacks) return;
    const text = query.length > MOST ? undefined : query;
    change({ text, sort: undefined, where: undefined, cols: undefined }, true);
    run(query);
  };
  return (
    <div class="query">
      <form
        class="card editor"
        onSubmit={(event) => {
          event.preventDefault();
          start(text);
        }}
      >
        <label>
          <span class="unseen">{TABS[language]} query</span>
          <textarea
            name="query"
            rows={Math.max(LEAST_LINES, text.split("\n").length)}
            spellcheck={false}
            autocomplete="off"
            autocapitalize="off"
            autocorrect="off"
            wrap="off"
            value={text}
            onInput={(event) => type(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) start(text);
            }}
          />
        </label>
        <div class="tools">
          {isRunning ? (
            <button type="button" class="run" onClick={stop}>
              Stop
            </button>
          ) : (
            <button type="submit" class="main run" disabled={!text.trim() || lacks}>
              Run
            </button>
          )}
          <span class="quiet keys">Ctrl+Enter</span>
          <span class="quiet note">
            {NOTES[language]}: <a href={`docs/reference/${language}.html`}>{TABS[language]} reference</a>
          </span>
        </div>
        {lacks && (
          <p class="warned">
            Your token has the scope {viewer.scope.toLowerCase()}. To run queries, use one with the scope sql:{" "}
            <code>trninv token create NAME --scope sql</code>
          </p>
        )}
      </form>
      <Examples
        examples={examples}
        text={text}
        choose={(text) => {
          type(text);
          start(text);
        }}
      />
      <Tables
        language={language}
        choose={(text) => {
          type(text);
          start(text);
        }}
      />
      <div class="result" aria-busy={isRunning}>
        {!outcome && <p class="quiet">{isRunning ? "Running…" : "The rows will be here."}</p>}
        {outcome && <Shown language={language} outcome={outcome} options={options} isStale={isRunning} />}
      </div>
    </div>
  );
}

interface ExamplesProps {
  examples: Example[];
  text: string;
  choose: (text: string) => void;
}

/** Queries to begin with: a list, on a phone a menu. */
function Examples({ examples, text, choose }: ExamplesProps) {
  const isNarrow = useNarrow();
  if (isNarrow)
    return (
      <label class="examples menu">
        Example{" "}
        <select
          value={examples.findIndex((example) => example.text === text)}
          onChange={({ currentTarget: { value } }) => choose(examples[Number(value)]?.text ?? text)}
        >
          <option value={-1} disabled>
            none: your own query
          </option>
          {examples.map((example, index) => (
            <option key={example.name} value={index}>
              {example.name}
            </option>
          ))}
        </select>
      </label>
    );
  return (
    <section class="card examples" aria-label="Examples">
      <h2>Examples</h2>
      <ul class="plain">
        {examples.map((example) => (
          <li key={example.name}>
            <button
              type="button"
              class="plain"
              aria-pressed={example.text === text}
              onClick={() => choose(example.text)}
            >
              {example.name}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

const ALL_OF: Record<Language, (table: string) => string> = {
  sql: (view) => `SELECT *\nFROM ${view}\nLIMIT 100`,
  cypher: (label) =>
    /[a-z]/.test(label)
      ? `MATCH (n:${label})\nRETURN n\nLIMIT 100`
      : `MATCH (a)-[r:${label}]->(b)\nRETURN a.address AS a, b.address AS b, r\nLIMIT 100`,
};

/** What can be queried: each name with what a row of it is and its columns; a click shows its first rows. */
function Tables({ language, choose }: { language: Language; choose: (text: string) => void }) {
  const tables = TABLES[language];
  return (
    <details class="card tables">
      <summary>{language === "sql" ? "Views and their columns" : "Labels, relationships and their properties"}</summary>
      <dl>
        {tables.map(([table, row, columns]) => (
          <div key={table}>
            <dt>
              <button
                type="button"
                class="plain"
                title="Show its first rows"
                onClick={() => choose(ALL_OF[language](table))}
              >
                {table}
              </button>{" "}
              <span class="quiet">{row}</span>
            </dt>
            <dd>{columns.join(", ")}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

const NOTES: Record<Language, string> = {
  sql: "One read-only SELECT over the views",
  cypher: "One read-only query. The first one builds the graph, where the server has trninv[graph]",
};

interface ShownProps {
  language: Language;
  outcome: Outcome;
  options: Record<string, string>;
  isStale: boolean;
}

function Shown({ language, outcome: { rows, error, took }, options, isStale }: ShownProps) {
  if (error) return <QueryError language={language} error={error} />;
  if (!rows) return null;
  return (
    <div class={isStale ? "stale" : undefined}>
      {rows.truncated && (
        <p class="warned">Showing the first {pluralize(rows.rows.length, "row")}. Add conditions or a LIMIT.</p>
      )}
      <Table name={language} rows={rows} options={options} took={took} />
    </div>
  );
}

/** Why a query failed and, if the service lacks Cypher, what to install. */
function QueryError({ language, error }: { language: Language; error: ApiError }) {
  if (language !== "cypher" || error.code !== "BAD_USE") return <Failure error={error} />;
  return (
    <section class="card" aria-label="Cypher is not installed">
      <p class="failure">This service has no Cypher: {error.message}</p>
      <p>
        On the server, install the <a href="docs/how-to/deploy.html#extras">extra</a> graph and restart{" "}
        <code>trninv serve</code>. SQL works without it.
      </p>
    </section>
  );
}

interface TableProps {
  name: string;
  rows: Rows;
  options: Record<string, string>;
  took: number;
}

function Table({ name, rows, options: { sort = "", where = "", cols = "" }, took }: TableProps) {
  const view = { sort, where, cols };
  const shown = useVisibleRows(rows, view);
  return (
    <DataTable
      name={name}
      all={rows}
      shown={shown}
      view={view}
      tools={
        <>
          <CopyButton name="Copy CSV" text={() => csv(shown)} />
          <span class="quiet">{took < 1000 ? `${Math.round(took)} ms` : `${(took / 1000).toFixed(1)} s`}</span>
        </>
      }
    />
  );
}
