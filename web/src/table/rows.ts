// Rows of a table: filtered, sorted, and as CSV.
import { rounded } from "../words";

/** What the health of a job is that no incident hits. */
export const ALL_UP = "all up";

export type Cell = string | number | boolean | null;

export interface Rows {
  columns: string[];
  rows: Cell[][];
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** Compare numbers by value, and text with numbers in it by their value. */
function compareCells(a: Cell, b: Cell): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return COLLATOR.compare(String(a), String(b));
}

/** Sort by a column, or in reverse by -column; stable, with empty cells last. */
export function sortRows({ columns, rows }: Rows, by: string): Cell[][] {
  const index = columns.indexOf(by.replace(/^-/, ""));
  if (index < 0) return rows;
  const way = by.startsWith("-") ? -1 : 1;
  return [...rows].sort((first, second) => {
    const [a = null, b = null] = [first[index], second[index]];
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    return way * compareCells(a, b);
  });
}

/** Significant digits of a calculated number; sources have no more. */
const DIGITS = 3;

/** Whether a column is of shares from 0 to 1, which are shown in percent. */
export const isShare = (column: string) => /^share_(?!of_)/.test(column);

/** Most decimals of a share in percent: more say nothing about a fleet. */
const SHARE_DECIMALS = 3;

/** Format a number; shares in percent, of which none is rounded to 0 or 100. */
export function formatCell(column: string, cell: number, decimals: number): string {
  if (isShare(column)) {
    const least = 10 ** -decimals;
    if (cell === 0 || cell === 1) return rounded(100 * cell, 0);
    if (100 * cell < least / 2) return `<${rounded(least, decimals)}`;
    return 100 * (1 - cell) < least / 2 ? `>${rounded(100 - least, decimals)}` : rounded(100 * cell, decimals);
  }
  // bandwidths are multiples of a link's
  const hasWhole = decimals === 1 || (decimals > 0 && unitOf(column) === "GB/s");
  return rounded(cell, hasWhole && Number.isInteger(cell) ? 0 : decimals);
}

/** How many decimals shares need in percent, so that none is rounded to 0 or 100, as far as there may be. */
export function shareDecimals(cells: Cell[]): number {
  const rests = cells.flatMap((cell) =>
    typeof cell === "number" && cell > 0 && cell < 1 ? [Math.min(cell, 1 - cell)] : [],
  );
  const least = 100 * Math.min(1, ...rests);
  return Math.max(1, Math.min(SHARE_DECIMALS, 1 - Math.floor(Math.log10(least))));
}

/** How many decimals a column needs so that each of its numbers has three digits, and shares near 1 or 100 differ. */
export function decimalsOf(cells: Cell[]): number {
  const numbers = cells.filter((cell) => typeof cell === "number" && !Number.isInteger(cell)) as number[];
  const most = Math.max(0, ...numbers.map(Math.abs));
  if (!most) return 0;
  const needed = (size: number) => Math.max(0, Math.min(4, DIGITS - 1 - Math.floor(Math.log10(size))));
  const whole = [1, 100].find((bound) => most < bound && most > 0.9 * bound);
  const rest = whole ? Math.min(...numbers.filter((value) => value > 0.9 * whole).map((value) => whole - value)) : most;
  return Math.max(needed(most), whole ? Math.min(4, -Math.floor(Math.log10(rest))) : 0);
}

/** The fewest decimals that print all numbers exactly, or the most if none do. */
export function exactDecimals(cells: Cell[], most: number): number {
  const isExact = (decimals: number) =>
    cells.every((cell) => typeof cell !== "number" || Number(cell.toFixed(decimals)) === cell);
  return Array.from({ length: most }, (_, decimals) => decimals).find(isExact) ?? most;
}

/** Columns by which a report may group rows that it then orders by an address. */
const GROUPING = ["state", "kind"];

/** Whether the rows are ordered by these numbers. */
function isRanking(cells: Cell[]): boolean {
  const numbers = cells.filter((cell) => typeof cell === "number");
  if (numbers.length < cells.length || numbers[0] === numbers.at(-1)) return false;
  return [1, -1].some((way) =>
    numbers.every((value, place) => !place || way * (value - (numbers[place - 1] ?? 0)) >= 0),
  );
}

const isOrdered = (a: Cell, b: Cell) => a === b || String(a) < String(b) || String(a).localeCompare(String(b)) < 0;
const isSame = (a: Cell[] | undefined, b: Cell[] | undefined, places: number[]) =>
  Boolean(a && b && places.every((place) => a[place] === b[place]));

/** Put rows that a report orders by an address as text, not by a number, in natural order: c2 before c10. */
export function naturalOrder({ columns, rows }: Rows): Rows {
  const index = columns.findIndex((column, place) => rows.some((row) => addresses(column, row[place] ?? null).length));
  const isRanked = columns.some((_, place) => isRanking(rows.map((row) => row[place] ?? null)));
  if (index < 0 || isRanked) return { columns, rows };
  const before = columns.flatMap((column, place) => (place < index || GROUPING.includes(column) ? [place] : []));
  const groups: Cell[][][] = [];
  for (const row of rows) {
    const group = groups.at(-1);
    if (group && isSame(group.at(-1), row, before)) group.push(row);
    else groups.push([row]);
  }
  const cellOf = (row: Cell[] | undefined) => row?.[index] ?? null;
  const isByText = groups.every((group) =>
    group.every((row, place) => !place || isOrdered(cellOf(group[place - 1]), cellOf(row))),
  );
  if (!isByText) return { columns, rows };
  return { columns, rows: groups.flatMap((group) => group.sort((a, b) => compareCells(cellOf(a), cellOf(b)))) };
}

type Test = (row: Cell[]) => boolean;

const TERM = /(?:([\w-]+)(!=|>=|<=|=|>|<|~))?(?:"([^"]*)"|(\S+))/g;

const MEETS: Record<string, (sign: number) => boolean> = {
  "=": (sign) => sign === 0,
  "!=": (sign) => sign !== 0,
  ">": (sign) => sign > 0,
  ">=": (sign) => sign >= 0,
  "<": (sign) => sign < 0,
  "<=": (sign) => sign <= 0,
};

const contains = (cell: Cell, text: string) => cell !== null && String(cell).toLowerCase().includes(text.toLowerCase());

/** A test of a column, such as chips>4, cluster=lab or why~"no carrier"; or text that any cell may contain. */
function test(columns: string[], [whole, column, sign, quoted, plain]: RegExpMatchArray): Test {
  const value = quoted ?? plain ?? "";
  const index = columns.indexOf(column ?? "");
  if (index < 0 || !sign) return (row) => row.some((cell) => contains(cell, column ? whole : value));
  if (sign === "~") return (row) => contains(row[index] ?? null, value);
  return (row) => {
    const cell = row[index] ?? null;
    if (cell === null) return sign === "!=";
    const right = typeof cell === "number" && value !== "" ? Number(value) : value;
    return !Number.isNaN(right) && (MEETS[sign]?.(Math.sign(compareCells(cell, right))) ?? false);
  };
}

/** Return the rows that pass every test of a filter. */
export function filterRows({ columns, rows }: Rows, where: string): Cell[][] {
  const tests = [...where.matchAll(TERM)].map((term) => test(columns, term));
  return tests.length ? rows.filter((row) => tests.every((passes) => passes(row))) : rows;
}

/** Select some of the columns; all, if none of the names is known. */
export function selectColumns({ columns, rows }: Rows, names: string[]): Rows {
  const indexes = names.map((name) => columns.indexOf(name)).filter((index) => index >= 0);
  if (!indexes.length) return { columns, rows };
  return {
    columns: indexes.map((index) => columns[index] as string),
    rows: rows.map((row) => indexes.map((index) => row[index] ?? null)),
  };
}

/** Put an apostrophe before text that a spreadsheet would evaluate, as the service does. */
const escapeFormula = (cell: Cell) => {
  const text = String(cell ?? "");
  return typeof cell === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
};
const field = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export const csv = ({ columns, rows }: Rows) =>
  [columns, ...rows].map((row) => `${row.map((cell) => field(escapeFormula(cell))).join(",")}\n`).join("");

const UNITS: [RegExp, string][] = [
  [/(^|_)gb_per_s(_|$)/, "GB/s"],
  [/(^|_)gib(_|$)/, "GiB"],
  [/(^|_)tflops(_|$)/, "TFLOPS"],
  [/(^|_)gflops(_|$)/, "GFLOPS"],
  [/(^|_)usd(_|$)/, "USD"],
  [/(^|_)percent(_|$)/, "%"],
  [/(^|_)hours(_|$)/, "h"],
  [/(^|_)seconds(_|$)/, "s"],
  [/^share_(?!of_)/, "%"],
];
/** The unit of a column's numbers, empty if its name does not say it. */
export const unitOf = (column: string) => UNITS.find(([pattern]) => pattern.test(column))?.[1] ?? "";
/** Whether a column's name says the unit of its numbers. */
export const hasUnit = (column: string) => unitOf(column) !== "";

/** Titles that need more than a column's name, which is public. */
const TITLES: Record<string, string> = {
  gb_per_s: "healthy, GB/s",
  ended_repair_hours: "mean repair, h",
  ongoing: "still down",
  ongoing_with_server: "down with server",
  chips_working: "chips up or degraded",
};
const NAMES: Record<string, string> = {
  hbm: "HBM",
  bf16: "BF16",
  fp8: "FP8",
  fp32: "FP32",
  h100: "H100",
  id: "ID",
  mtbf: "MTBF",
  mttr: "MTTR",
  neuronlink: "NeuronLink",
  nic: "NIC",
  usd: "USD",
};

const inWords = (name: string) =>
  name
    .split("_")
    .filter(Boolean)
    .map((word) => NAMES[word] ?? word)
    .join(" ");

/** A column's title with its unit: hbm_gib is HBM, GiB; usd_a_chip is USD a chip. */
export function columnLabel(column: string): string {
  const title = TITLES[column];
  if (title) return title;
  const [pattern, unit] = UNITS.find(([unitPattern]) => unitPattern.test(column)) ?? [/(?!)/, ""];
  const [before = "", after = ""] = column.replace(pattern, "\n").split("\n");
  if (/^(an?|for)_/.test(after)) return [inWords(before), unit, inWords(after)].filter(Boolean).join(" ");
  return [inWords(`${before}_${after}`.replace(/^_of_/, "share_of_")), unit].filter(Boolean).join(", ");
}

const ADDRESS = /^[a-z0-9][\w.-]*\/(?:[dr]\d+|fabric)(?:\/[a-z]+\d+)*$/;
const isAddress = (text: string) => text.split("--").every((end) => ADDRESS.test(end));

/** The addresses of a cell that contains nothing else; one word in a column of clusters or addresses is a cluster. */
export function addresses(column: string, cell: Cell): string[] {
  if (typeof cell !== "string" || !cell) return [];
  const parts = cell.split(/,? /);
  if (/(^|_)(cluster|address)$/.test(column) && /^[a-z0-9][\w.-]*$/.test(cell)) return [cell];
  return parts.every(isAddress) ? parts : [];
}

/** For each column of numbers the column that says of which documented number they are, if sources disagree on it. */
export function disputesOf(columns: string[]): Map<string, string> {
  const disputes = columns.filter((column) => column.endsWith("_disputed"));
  return new Map(
    disputes.flatMap((dispute): [string, string][] => {
      const [subject = ""] = dispute.split("_");
      const number = columns.find((column) => column !== dispute && column.split("_").includes(subject));
      return number ? [[number, dispute]] : [];
    }),
  );
}

/** Whether a cell is a recorded time: date and time with a zone. */
export const isTimestamp = (text: string) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text);
