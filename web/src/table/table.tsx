// A table with sorting, a filter and a choice of columns, which draws only the visible rows if there are many.
import { Fragment } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { useNarrow } from "../domain/wiring";
import { type Letter, LetterBadge } from "../drawing/letter";
import { saveFile } from "../drawing/save";
import "../style/data.css";
import { useAsOf } from "../live";
import { Address, BriefReason, DisputeMark, NO_MARK, Reason } from "../parts";
import { change, href } from "../route";
import { useKey } from "../shortcuts";
import { formatDateTime, formatDuration, isState, nounOf, StateLabel, shownTime } from "../state";
import { exact, pluralize, relativeTo, rounded, shortenAddress } from "../words";
import {
  ALL_UP,
  addresses,
  type Cell,
  columnLabel,
  csv,
  decimalsOf,
  disputesOf,
  exactDecimals,
  filterRows,
  formatCell,
  hasUnit,
  isShare,
  isTimestamp,
  type Rows,
  selectColumns,
  shareDecimals,
  sortRows,
  unitOf,
} from "./rows";

/** Tables with more rows than this draw them as they come into view. */
const MOST = 200;
/** Lines and height, in pixels, of each row of such a table, in a wide window and on a phone. */
const [WIDE, NARROW] = [
  { lines: 1, height: 32 },
  { lines: 2, height: 48 },
];
const MARGIN = 12;

interface TableOptions {
  /** A column, or -column. */
  sort: string;
  where: string;
  /** Names of columns, separated by commas; empty: all. */
  cols: string;
}

/** Return the rows that the page's options select, in their order, for display, plot and download. */
export function useVisibleRows(all: Rows, { sort, where, cols }: TableOptions): Rows {
  return useMemo(() => {
    const rows = sortRows({ columns: all.columns, rows: filterRows(all, where) }, sort);
    return selectColumns({ columns: all.columns, rows }, cols.split(","));
  }, [all, sort, where, cols]);
}

export type Shares = Record<string, [part: string, whole: string]>;

interface Props {
  name: string;
  all: Rows;
  shown: Rows;
  view: TableOptions;
  /** Whether to highlight a row because it is about the page's subject. */
  chosen?: (row: Cell[]) => boolean;
  /** The letters of jobs in the picture next to the table. */
  letters?: Map<string, Letter>;
  /** The incidents behind the health of jobs, by their names. */
  incidents?: Map<string, string>;
  /** The place that contains all others, whose addresses leave it out. */
  within?: string;
  /** Where the name of a job leads; by default to the job among all. */
  jobHref?: (job: string) => string;
  /** More buttons next to the download. */
  tools?: preact.ComponentChildren;
  /** Columns that are shown unless the address has others; by default all. */
  usual?: string[] | undefined;
  /** Columns whose numbers are added up below the rows. */
  totals?: string[] | undefined;
  /** Shares that are known of all rows too, each with the columns of its part and of its whole. */
  shares?: Shares | undefined;
  /** Rows that are shown until all are asked for. */
  few?: number | undefined;
  /** What the other rows have in common. */
  rest?: string | undefined;
  /** Whether a row is several lines on a phone; a table with long texts always does that. */
  stacked?: boolean;
  /** Whether rows with the same first cell are below it, in the order of the first of each. */
  grouped?: boolean;
  /** What to show in place of the rows, and its size in words. */
  summary?: { size: string; content: preact.ComponentChildren };
}

export function DataTable({
  name,
  all,
  shown,
  view,
  chosen,
  letters,
  incidents,
  within,
  jobHref,
  tools,
  usual,
  totals,
  shares,
  few,
  rest: others,
  stacked,
  grouped,
  summary,
}: Props) {
  const field = useRef<HTMLInputElement>(null);
  const [isWhole, setWhole] = useState(false);
  const drawn = useMemo(
    () => (isWhole || few === undefined ? shown : { ...shown, rows: shown.rows.slice(0, few) }),
    [shown, isWhole, few],
  );
  const rest = shown.rows.length - drawn.rows.length;
  useKey("f", () => field.current?.focus());
  const less = shown.rows.length < all.rows.length;
  return (
    <>
      <div class="tools data-tools">
        <label>
          <span>Filter</span>{" "}
          <input
            ref={field}
            type="search"
            aria-keyshortcuts="F"
            name="where"
            value={view.where}
            placeholder={`text, or ${all.columns[0]}=…`}
            title="Text in any column, or conditions such as chips>4 cluster=lab why~&quot;no carrier&quot;"
            onChange={(event) => change({ where: event.currentTarget.value.trim() || undefined })}
          />
        </label>
        <Columns all={all.columns} shown={shown.columns} usual={usual ?? all.columns} />
        <button
          type="button"
          title="Save the rows and columns shown, in this order"
          onClick={() => saveFile(`${name}.csv`, csv(shown), "text/csv")}
        >
          Download CSV
        </button>
        {tools}
        <span class="quiet" role="status">
          {less
            ? `${pluralize(shown.rows.length, "row")} of ${exact(all.rows.length)}`
            : pluralize(all.rows.length, "row")}
          {summary && ` ${summary.size}`}
        </span>
      </div>
      {shown.rows.length && summary ? (
        summary.content
      ) : shown.rows.length ? (
        <>
          <Body
            shown={drawn}
            sort={view.sort}
            chosen={chosen}
            letters={letters}
            incidents={incidents}
            within={within ?? ""}
            jobHref={jobHref}
            totals={totals ?? []}
            shares={shares ?? {}}
            stacked={stacked ?? false}
            grouped={grouped ?? false}
          />
          {rest > 0 && (
            <button type="button" class="rest-of-rows" onClick={() => setWhole(true)}>
              Show {pluralize(rest, "more row")}
              {others && `, ${others}`}
            </button>
          )}
        </>
      ) : (
        <p class="card">
          {all.rows.length ? (
            <>
              No rows match the filter.{" "}
              <button type="button" onClick={() => change({ where: undefined })}>
                Clear filter
              </button>
            </>
          ) : (
            "No rows."
          )}
        </p>
      )}
    </>
  );
}

function Columns({ all, shown, usual }: { all: string[]; shown: string[]; usual: string[] }) {
  // a mark of disputed numbers comes and goes with its column
  const marks = disputesOf(all);
  const beside = new Set(marks.values());
  const listed = all.filter((name) => !beside.has(name));
  const visible = listed.filter((name) => shown.includes(name));
  const toggle = (column: string) => {
    const toggled = [column, marks.get(column)];
    const next = all.filter((name) => (toggled.includes(name) ? !shown.includes(column) : shown.includes(name)));
    const isUsual = next.length === usual.length && next.every((name) => usual.includes(name));
    if (next.length) change({ cols: isUsual ? undefined : next.join(",") }, true);
  };
  return (
    <details class="columns-of">
      <summary>Columns{visible.length < listed.length && ` (${visible.length} of ${listed.length})`}</summary>
      <div class="pop">
        {listed.map((column) => (
          <label key={column} class="toggle">
            <input
              type="checkbox"
              checked={shown.includes(column)}
              disabled={visible.length === 1 && visible[0] === column}
              onChange={() => toggle(column)}
            />{" "}
            {columnLabel(column)}
          </label>
        ))}
      </div>
    </details>
  );
}

interface BodyProps {
  shown: Rows;
  sort: string;
  chosen: Props["chosen"];
  letters: Props["letters"];
  incidents: Props["incidents"];
  within: string;
  jobHref: Props["jobHref"];
  totals: string[];
  shares: Shares;
  stacked: boolean;
  grouped: boolean;
}

const hrefOfJob = (job: string) => href("jobs", "", { sel: job });

/** Rows by their first cell. */
function groupsOf(rows: Cell[][]): Cell[][][] {
  const groups = new Map<Cell, Cell[][]>();
  for (const row of rows) groups.set(row[0] ?? null, [...(groups.get(row[0] ?? null) ?? []), row]);
  return [...groups.values()];
}

function Body({
  shown: { columns, rows },
  sort,
  chosen,
  letters,
  incidents,
  within,
  jobHref = hrefOfJob,
  totals,
  shares,
  stacked,
  grouped,
}: BodyProps) {
  const sumOf = (column: string) => rows.reduce((sum, row) => sum + Number(row[columns.indexOf(column)]), 0);
  const totalOf = (column: string): Cell => {
    const [part, whole] = shares[column] ?? [];
    if (totals.includes(column)) return sumOf(column);
    return part && whole && columns.includes(part) && columns.includes(whole) ? sumOf(part) / sumOf(whole) : null;
  };
  const [top, scrolled] = useState(0);
  const box = useRef<HTMLElement>(null);
  const many = rows.length > MOST;
  const { lines, height } = useNarrow() ? NARROW : WIDE;
  const high = box.current?.clientHeight || 600;
  const first = many ? Math.max(0, Math.min(Math.floor(top / height), rows.length) - MARGIN) : 0;
  const last = many ? Math.min(rows.length, Math.ceil((top + high) / height) + MARGIN) : rows.length;
  const disputes = useMemo(() => disputesOf(columns), [columns]);
  const beside = new Set(disputes.values());
  const isGrouped = grouped && !many;
  const drawn = columns.flatMap((column, place) =>
    beside.has(column) || (isGrouped && !place)
      ? []
      : [{ column, place, disputeAt: columns.indexOf(disputes.get(column) ?? "") }],
  );
  const numeric = useMemo(
    () =>
      columns.map((column, index) =>
        rows.every((row) => row[index] === null) ? hasUnit(column) : rows.some((row) => typeof row[index] === "number"),
      ),
    [columns, rows],
  );
  const decimals = useMemo(() => {
    const cellsOf = (index: number) => rows.map((row) => row[index] ?? null);
    // shares of one table have the same number of digits
    const ofShares = shareDecimals(columns.flatMap((column, index) => (isShare(column) ? cellsOf(index) : [])));
    const own = columns.map((column, index) => (isShare(column) ? ofShares : decimalsOf(cellsOf(index))));
    // and so have columns of one unit that are added up, so that their differences are right as printed
    return columns.map((column, place) => {
      const most = own[place] ?? 0;
      if (!totals.includes(column) || !hasUnit(column)) return most;
      const like = columns.flatMap((other, at) =>
        totals.includes(other) && unitOf(other) === unitOf(column) ? [at] : [],
      );
      return exactDecimals(like.flatMap(cellsOf), Math.max(...like.map((at) => own[at] ?? 0)));
    });
  }, [columns, rows, totals]);
  const isStacked = useMemo(
    () => stacked || (!many && (drawn.length > MOST_COLUMNS || isWordy({ columns, rows }))),
    [stacked, many, columns, rows],
  );
  const widths = useMemo(
    () => (many ? widthsOf({ columns, rows }, decimals, lines) : []),
    [many, columns, rows, decimals, lines],
  );
  return (
    <section
      ref={box}
      class={`card flush data ${isGrouped ? "grouped " : ""}${many ? "many" : isStacked ? "scroll stacked" : "scroll"}`}
      style={many ? { "--row": `${height}px`, "--lines": lines } : undefined}
      aria-label="Rows"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      onScroll={many ? (event) => scrolled(event.currentTarget.scrollTop) : undefined}
    >
      <table
        class="full frozen"
        aria-rowcount={many ? rows.length + 1 : undefined}
        style={many ? { width: `${drawn.reduce((sum, { place }) => sum + (widths[place] ?? 0), 0)}ch` } : undefined}
      >
        {many && (
          <colgroup>
            {drawn.map(({ column, place }) => (
              <col key={column} style={{ width: `${widths[place]}ch` }} />
            ))}
          </colgroup>
        )}
        <thead>
          <tr aria-rowindex={many ? 1 : undefined}>
            {drawn.map(({ column, place, disputeAt }) => (
              <Header
                key={column}
                column={column}
                sort={sort}
                isNumber={numeric[place] ?? false}
                hasMarks={disputeAt >= 0}
              />
            ))}
          </tr>
        </thead>
        {(isGrouped ? groupsOf(rows) : [rows.slice(first, last)]).map((group, at) => (
          <tbody key={at}>
            <Space height={first * height} />
            {isGrouped && <Heading column={columns[0] ?? ""} cell={group[0]?.[0] ?? null} span={drawn.length} />}
            {group.map((row, index) => (
              <tr
                key={first + index}
                class={chosen?.(row) ? "chosen" : undefined}
                aria-rowindex={many ? first + index + 2 : undefined}
              >
                {drawn.map(({ column, place, disputeAt }) => (
                  <Value
                    key={column}
                    column={column}
                    cell={row[place] ?? null}
                    dispute={disputeAt < 0 ? undefined : String(row[disputeAt] ?? "")}
                    short={many}
                    isFirst={place === drawn[0]?.place}
                    isNumber={numeric[place] ?? false}
                    decimals={decimals[place] ?? 0}
                    letter={column === "job" ? letters?.get(String(row[place])) : undefined}
                    incident={column === "health" ? incidents?.get(String(row[columns.indexOf("job")])) : undefined}
                    within={within}
                    jobHref={jobHref}
                  />
                ))}
              </tr>
            ))}
            <Space height={(rows.length - last) * height} />
          </tbody>
        ))}
        {rows.length > 1 && drawn.some(({ column }) => totals.includes(column)) && (
          <tfoot>
            <tr>
              {drawn.map(({ column, place, disputeAt }) =>
                totalOf(column) !== null ? (
                  <Value
                    key={column}
                    column={column}
                    cell={totalOf(column)}
                    dispute={disputeAt < 0 ? undefined : rows.some((row) => row[disputeAt]) ? "a part of this sum" : ""}
                    short={false}
                    isFirst={false}
                    isNumber
                    decimals={decimals[place] ?? 0}
                    letter={undefined}
                    incident={undefined}
                    within={within}
                    jobHref={jobHref}
                  />
                ) : place === drawn[0]?.place ? (
                  <th key={column} scope="row">
                    Total
                  </th>
                ) : (
                  <td key={column} />
                ),
              )}
            </tr>
          </tfoot>
        )}
      </table>
    </section>
  );
}

/** What the rows below have in common. */
function Heading({ column, cell, span }: { column: string; cell: Cell; span: number }) {
  const [address] = addresses(column, cell);
  return (
    <tr class="topic">
      <th scope="rowgroup" colSpan={span}>
        {address ? <a href={href("cluster", address)}>{address}</a> : String(cell ?? "")}
      </th>
    </tr>
  );
}

function Space({ height }: { height: number }) {
  if (height <= 0) return null;
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row without a control takes no focus
  return <tr class="space" aria-hidden="true" style={{ height: `${height}px` }} />;
}

/** With more columns a phone shows each row as a card. */
const MOST_COLUMNS = 11;
/** A text longer than this, in one of the first columns, makes a phone show each row as a card. */
const [WORDY, FIRST_COLUMNS] = [40, 5];

const isWordy = ({ columns, rows }: Rows) =>
  columns.some(
    (column, index) =>
      index > 0 &&
      index < FIRST_COLUMNS &&
      rows.some((row) => lengthOf(column, row[index] ?? null, 0) > WORDY && typeof row[index] === "string"),
  );

/** How many characters a cell shows. */
function lengthOf(column: string, cell: Cell, decimals: number): number {
  if (typeof cell === "number") return rounded(cell, decimals).length;
  const text = String(cell ?? "");
  if (isTimestamp(text)) return "23 h 59 min ago".length;
  return addresses(column, cell).length ? shortenAddress(text).length : text.length;
}

/** Texts up to this length, in characters, stay on one line. */
const SHORT = 24;
const HEADER_LINES = 3;
/** Texts of more characters take two lines, or more if they would be wider than this. */
const [LONG, MOST_WIDE] = [80, 100];
/** Most characters of the column that stays in view on a phone. */
const FIRST = 20;

/** Widths in characters, so that columns stay in place while rows scroll; a longer text may take several lines. */
function widthsOf({ columns, rows }: Rows, decimals: number[], lines: number): number[] {
  return columns.map((column, index) => {
    const word =
      Math.max(
        ...columnLabel(column)
          .split(" ")
          .map(({ length }) => length),
      ) + 2;
    const longest = rows.reduce(
      (most, row) => Math.max(most, lengthOf(column, row[index] ?? null, decimals[index] ?? 0)),
      word,
    );
    const needed = lines > 1 && longest > SHORT ? Math.max(SHORT, Math.ceil(longest / lines) + 3) : longest;
    return Math.min(lines > 1 && !index ? FIRST : 44, needed) + 4;
  });
}

const NEXT: Record<string, (column: string) => string | undefined> = {
  none: (column) => column,
  ascending: (column) => `-${column}`,
  descending: () => undefined,
};

interface HeaderProps {
  column: string;
  sort: string;
  isNumber: boolean;
  /** Whether some of its numbers have a mark. */
  hasMarks: boolean;
}

function Header({ column, sort, isNumber, hasMarks }: HeaderProps) {
  const order = sort === column ? "ascending" : sort === `-${column}` ? "descending" : "none";
  return (
    <th
      scope="col"
      class={isNumber ? "number" : undefined}
      style={{ "--word": `${Math.ceil(columnLabel(column).length / HEADER_LINES) + 2}ch` }}
      aria-sort={order}
    >
      <button type="button" class="plain" onClick={() => change({ sort: NEXT[order]?.(column) })}>
        {columnLabel(column)}
        {order !== "none" && <span aria-hidden="true"> {order === "ascending" ? "↑" : "↓"}</span>}
      </button>
      {hasMarks && NO_MARK}
    </th>
  );
}

/** What links of a model connect, by the end of its name, in the words of the legend of a domain. */
const JOINED: Record<string, string> = {
  plane: "Within a server",
  ring: "Between servers",
  server: "Server switch",
  rack: "Rack switch",
  twin: "Between racks",
  host: "Chips to NICs",
  fabric: "NICs and fabric",
};
const LINK_KINDS = /^(neuronlink|efa)-/;
const linkName = (kind: string) => JOINED[/\w+$/.exec(kind)?.[0] ?? ""] ?? "Between chips";

/** Columns that count what is down. */
const DOWN = new Set(["failed_chips", "ongoing", "ongoing_with_server"]);

interface ValueProps {
  column: string;
  cell: Cell;
  /** The values that sources state, empty if they agree; undefined: the column has no such numbers. */
  dispute: string | undefined;
  short: boolean;
  isFirst: boolean;
  /** Whether its column is of numbers. */
  isNumber: boolean;
  decimals: number;
  letter: Letter | undefined;
  /** The incident behind the health of a job. */
  incident: string | undefined;
  /** A place that addresses leave out. */
  within: string;
  jobHref: (job: string) => string;
}

function Value(props: ValueProps) {
  const { column, cell, dispute, short, isFirst, isNumber, decimals, letter, incident, within, jobHref } = props;
  const label = columnLabel(column);
  if (typeof cell === "number") {
    const text = formatCell(column, cell, decimals);
    return (
      <td
        class={cell === 0 ? "number zero" : "number"}
        data-label={label}
        title={text === exact(cell) ? undefined : String(cell)}
      >
        {DOWN.has(column) && cell > 0 ? <StateLabel state="down">{text}</StateLabel> : text}
        {dispute ? <DisputeMark dispute={dispute} /> : dispute !== undefined && NO_MARK}
      </td>
    );
  }
  const text = String(cell ?? "");
  const shown = within
    ? text
        .split(" ")
        .map((word) => relativeTo(within, word))
        .join(" ")
    : text;
  const links = addresses(column, cell);
  if (!text && isNumber)
    return (
      <td class="number none">
        <span aria-hidden="true">—</span>
        <span class="unseen">not known</span>
      </td>
    );
  if (!text) return <td />;
  if (isTimestamp(text)) return <Ago time={text} label={label} />;
  if (column === "state" && isState(text))
    return (
      <td>
        <StateLabel state={text} />
      </td>
    );
  if (column === "health" && text !== ALL_UP) {
    // an address does not break at the hyphens of its cluster
    const words = shown.split(/(\S+\/\S+)/).map((word, at) => (at % 2 ? <span class="nowrap">{word}</span> : word));
    return (
      <td data-label={label}>
        <StateLabel state={/ down\b/.test(text) ? "down" : "degraded"}>
          {incident ? <a href={href("incidents", "", { sel: incident })}>{words}</a> : words}
        </StateLabel>
      </td>
    );
  }
  const content = links.length ? (
    links.map((address, index) => (
      <Fragment key={address}>
        {index > 0 && ", "}
        <a class={isFirst ? undefined : "address"} href={href(address.includes("/") ? "at" : "cluster", address)}>
          {isFirst ? <Address text={shortenAddress(address)} /> : shortenAddress(relativeTo(within, address))}
        </a>
      </Fragment>
    ))
  ) : column === "job" && text ? (
    <>
      {letter && (
        <>
          <LetterBadge letter={letter} />{" "}
        </>
      )}
      <a href={jobHref(text)}>{text}</a>
    </>
  ) : column === "kind" && LINK_KINDS.test(text) ? (
    <>
      {linkName(text)} <span class="quiet">{text}</span>
    </>
  ) : column === "kind" ? (
    nounOf(text)
  ) : column === "why" ? (
    <BriefReason text={shown} />
  ) : (
    <Reason text={shown} />
  );
  const isLong = !short && text.length > LONG && !links.length;
  return (
    <td
      class={isLong ? "long" : text.length > WORDY ? "wide-text" : undefined}
      data-label={isFirst || text.length > WORDY ? undefined : label}
      style={isLong ? { "--long": `${Math.min(MOST_WIDE, Math.ceil(text.length / 2) + 3)}ch` } : undefined}
      title={short && text.length > 40 ? text : undefined}
    >
      {short || isFirst ? <div>{content}</div> : content}
    </td>
  );
}

/** How long ago a recorded time was, with the time itself on hover and for machines. */
function Ago({ time, label }: { time: string; label: string }) {
  const { asof } = useAsOf();
  const reached = shownTime(asof);
  return (
    <td class="time" data-label={label}>
      <time dateTime={time} title={formatDateTime(time)}>
        {Date.parse(time) <= reached ? `${formatDuration(time, reached)} ago` : formatDateTime(time)}
      </time>
    </td>
  );
}
