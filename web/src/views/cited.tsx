// The documents that state the numbers, the newest first.
import { href } from "../route";
import { type Column, Row, SimpleTable } from "../simpletable";
import { gigabytes, number } from "../words";

interface Source {
  title: string;
  publisher: string;
  date: string | null;
  kind: string;
}

interface Fact {
  source: Source;
  others: readonly { source: Source }[];
}

interface Stated {
  value: string;
  exact: unknown;
  formula: string | null;
  source: { title: string };
}

/** What the inventory computes from its parts instead of what it takes from a source. */
export interface Computed {
  value: string;
  exact: number;
  /** The parts that add up to it. */
  parts: string;
}

interface Rates {
  slug: string;
  efaBandwidth: { bytesPerSecond: unknown; gigabytesPerSecond: number } | null;
}

/**
 * Return what the inventory uses instead of a stated number: the sum of a system's NICs, or the sum of a chip's links
 * as the same source states them, if they add up to something else.
 */
export function computedOf(
  {
    subject,
    attribute,
    exact,
    source,
  }: { subject: string; attribute: string; exact: unknown; source: Stated["source"] },
  others: readonly Stated[],
  systems: readonly Rates[],
): Computed | undefined {
  const nics = attribute === "efa_bandwidth" && systems.find(({ slug }) => slug === subject)?.efaBandwidth;
  if (nics && Number(nics.bytesPerSecond) !== Number(exact))
    return { value: gigabytes(nics), exact: Number(nics.bytesPerSecond), parts: "NICs" };
  const links =
    attribute === "neuronlink_bandwidth" &&
    others.find((other) => other.formula && other.source.title === source.title && other.exact !== exact);
  return links ? { value: links.value, exact: Number(links.exact), parts: "links" } : undefined;
}

interface CitedDocument extends Source {
  /** Numbers of the page that are taken from it. */
  used: number;
  /** Numbers of the page that it states. */
  stated: number;
}

/** Return the documents that state some facts, the newest first; an assumption has no document. */
export function documentsOf(facts: readonly Fact[]): CitedDocument[] {
  const documents = new Map<string, CitedDocument>();
  for (const { source, others } of facts)
    for (const each of new Map(
      [source, ...others.map((other) => other.source)].map((one) => [one.title, one]),
    ).values()) {
      if (each.kind === "assumed") continue;
      const document = documents.get(each.title) ?? { ...each, used: 0, stated: 0 };
      document.stated++;
      if (each.title === source.title) document.used++;
      documents.set(each.title, document);
    }
  return [...documents.values()].sort(
    (a, b) => (b.date ?? "").localeCompare(a.date ?? "") || b.used - a.used || a.title.localeCompare(b.title),
  );
}

/** A document by its title, and by its publisher unless that is the vendor. */
export const nameOf = ({ title, publisher }: Pick<Source, "title" | "publisher">) =>
  /^(AWS|trninv)/.test(publisher) ? title : `${publisher}: ${title}`;

/** A value as sources write it: the catalog counts operations per second of any type in FLOPS, but integers have none. */
export const asWritten = (attribute: string, value: string) =>
  attribute === "int8_compute" ? value.replace("FLOPS", "OPS") : value;

export const KINDS: Record<string, string> = {
  seed: "seed document",
  vendor: "vendor’s documentation",
  driver: "vendor’s source code",
  third_party: "third party",
};

const COLUMNS: Column[] = [
  ["Document"],
  ["Date"],
  ["Publisher", "roomy"],
  ["Kind", "roomy"],
  ["Numbers used", "number"],
  ["Stated", "number roomy"],
];

export function DocumentTable({ documents }: { documents: CitedDocument[] }) {
  return (
    <section class="card flush documents">
      <SimpleTable name="Documents" columns={COLUMNS}>
        {documents.map(({ title, publisher, date, kind, used, stated }) => (
          <Row key={title} content="">
            <th scope="row">{used ? <a href={href("sources", "", { where: title })}>{title}</a> : title}</th>
            <td class="date">{date ?? <span class="quiet">undated</span>}</td>
            <td class="roomy">{publisher}</td>
            <td class="roomy quiet">{KINDS[kind]}</td>
            <td class="number">{number(used)}</td>
            <td class="number roomy quiet">{number(stated)}</td>
          </Row>
        ))}
      </SimpleTable>
    </section>
  );
}
