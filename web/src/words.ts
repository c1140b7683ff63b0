// Numbers for people.
const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const SMALL = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const EXACT = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });

export const number = (value: number) => (Math.abs(value) < 1 ? SMALL : NUMBER).format(value);

/** Format a number: whole numbers in full, others with six digits. */
export const exact = (value: number) => (Number.isInteger(value) ? NUMBER : EXACT).format(value);

/** Format a number with the decimals of its column. */
export const rounded = (value: number, decimals: number) =>
  value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
export const gigabytes = (rate: { gigabytesPerSecond: number }) => `${number(rate.gigabytesPerSecond)} GB/s`;
export const gibibytes = (size: { gibibytes: number }) => `${number(size.gibibytes)} GiB`;
export const pluralize = (count: number, noun: string) =>
  `${number(count)} ${noun}${count === 1 ? "" : /(s|ch|x)$/.test(noun) ? "es" : "s"}`;

/** Changes from smaller counts are shown as a difference, all others as a percentage. */
const FEW = 100;

/** Describe a change: −2, +45 %, −3 %. */
export function formatDifference(before: number, now: number): string {
  if (before === now) return "";
  const sign = now < before ? "−" : "+";
  const few = Number.isInteger(before) && Number.isInteger(now) && before < FEW;
  if (few || before === 0) return `${sign}${number(Math.abs(now - before))}`;
  const share = (100 * Math.abs(now - before)) / before;
  return `${sign}${share < 10 ? Number(share.toPrecision(1)) : Math.round(share)} %`;
}

/** An address relative to a place: s0/c3. */
export const relativeTo = (place: string, address: string) =>
  address
    .split("--")
    .map((end) => (end.startsWith(`${place}/`) ? end.slice(place.length + 1) : end))
    .join("--");

/** A link by its two ends, with their common prefix only once: c/d0/s0/c1 – s1/c1. */
export function shortenAddress(address: string): string {
  const [a = "", b] = address.split("--");
  if (!b) return a;
  const domain = /^[^/]+\/d\d+(?=\/)/.exec(a)?.[0];
  return `${a} – ${domain ? relativeTo(domain, b) : b}`;
}

/** Restore the full address that `below` shortened. */
export const absoluteIn = (place: string, short: string) =>
  short
    .split("--")
    .map((end) => `${place}/${end}`)
    .join("--");

/** What a fact is based on: a quote, or the numbers that it is derived from. */
export function citation(fact: { quote: string; formula?: string | null }): string {
  if (fact.formula)
    return `from ${fact.formula.replace(/([^\s:]+):(\w+)@[\w-]+/g, (_, subject, what) => `${subject} ${what.replaceAll("_", " ")}`)}`;
  return /^[“"]/.test(fact.quote) ? fact.quote : `“${fact.quote}”`;
}

/** Name a number without repeating a word. */
export const attributeOf = (subject: string, attribute: string) =>
  `${subject} ${attribute.replace(new RegExp(`^${subject}_`), "")}`.replaceAll("_", " ");
