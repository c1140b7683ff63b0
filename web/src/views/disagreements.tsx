// Numbers on which sources disagree: what each states, and which one is used.
import { useEffect } from "preact/hooks";
import { graphql, makeQuery, type Result, useQuery } from "../api";
import { CopyQueries, Loading } from "../parts";
import type { Route } from "../route";
import "../style/facts.css";
import { citation, number, pluralize } from "../words";
import { asWritten, type Computed, computedOf, KINDS, nameOf } from "./cited";
import { FactFilter } from "./factfilter";
import { attributeName, passes, subjectName } from "./factnames";

const CONFLICTS = graphql(`
  query Disagreements {
    conflicts(first: 1000) {
      nodes {
        subject attribute disagreement note
        selected { exact source { title } }
        facts {
          value exact quote formula readingUnit readingDirection readingReason
          source { title publisher date kind }
        }
      }
    }
    facts(filter: { picked: { eq: true }, disputed: { eq: true } }, first: 1000) {
      nodes { subject attribute value quote formula note source { title publisher date kind } }
    }
    systems { slug name efaBandwidth { bytesPerSecond gigabytesPerSecond } }
  }
`);

type Answer = Result<typeof CONFLICTS>;
type Conflict = Answer["conflicts"]["nodes"][number];
type Derived = Answer["facts"]["nodes"][number];

const DIRECTIONS: Record<string, string> = { one: "one direction", both: "sum of both directions" };

const DIFFERENCES: Record<string, string> = {
  UNIT: "The same value, given in a unit that reads as another one.",
  ROUNDING: "The same value, rounded.",
};

/** Sections of the page by the kind of disagreement, the gravest first. */
const SECTIONS: [id: string, name: string, title: string][] = [
  ["", "Values", "Sources state different values"],
  ["rounding", "Rounding and units", "The same value, rounded or in another unit"],
  ["derived", "Derived", "Disputed because of their inputs or notation"],
];

/** How much more or less than the used value another one is, as a share of it; 0 if it is no number. */
function differenceOf(used: { exact: unknown } | undefined, other: { exact: unknown }): number {
  const [from, to] = [Number(used?.exact ?? Number.NaN), Number(other.exact ?? Number.NaN)];
  return from && Number.isFinite(to) ? (to - from) / from : 0;
}

/** A difference in percent: −9.5 %. */
function percentOf(difference: number): string {
  if (!difference) return "";
  const percent = 100 * Math.abs(difference);
  return `${difference < 0 ? "−" : "+"}${number(Number(percent.toPrecision(percent < 100 ? 2 : 3)))} %`;
}

/** The largest difference between what sources state and what is used. */
const largestOf = ({ conflict, computed }: Entry) =>
  Math.max(0, ...(conflict?.facts ?? []).map((fact) => Math.abs(differenceOf(computed ?? conflict?.facts[0], fact))));

/** Numbers of announced fleets, with which nothing is calculated. */
const ANNOUNCED = /ultracluster|^rainier/;

/** What changes an answer first: values that are computed instead, then those of parts, then announcements. */
const rankOf = ({ computed, conflict }: Entry) => (computed ? 0 : ANNOUNCED.test(conflict?.subject ?? "") ? 2 : 1);

/** A formula with names for people: Trn3 Gen1 HBM / Trn3 Gen1 chips. */
const formulaInWords = (formula: string, systems: Map<string, string>) =>
  formula.replace(
    /([^\s:]+):(\w+)@[\w-]+/g,
    (_, subject, attribute) => `${subjectName(subject, systems)} ${attributeName(attribute, subject)}`,
  );

interface Entry {
  key: string;
  section: string;
  subject: string;
  name: string;
  conflict?: Conflict;
  derived?: Derived;
  /** What a derived number follows from. */
  from?: string;
  why: string;
  /** What the inventory computes from its parts instead of what it takes from sources. */
  computed?: Computed | undefined;
  /** The number above it that has the same reason. */
  sameAs?: string;
}

function entriesOf(data: Answer): Entry[] {
  const systems = new Map(data.systems.map(({ slug, name }) => [slug, name]));
  const entry = (fact: { subject: string; attribute: string }) => ({
    key: `${fact.subject} ${fact.attribute}`,
    subject: subjectName(fact.subject, systems),
    name: attributeName(fact.attribute, fact.subject),
  });
  const conflicts = data.conflicts.nodes.map(
    (conflict): Entry => ({
      ...entry(conflict),
      section: conflict.disagreement === "VALUE" ? "" : "rounding",
      conflict,
      computed: computedOf({ ...conflict, ...conflict.selected }, conflict.facts, data.systems),
      why: conflict.note || DIFFERENCES[conflict.disagreement] || "",
    }),
  );
  const named = new Set(conflicts.map(({ key }) => key));
  const derived = data.facts.nodes.map(
    (fact): Entry => ({
      ...entry(fact),
      section: "derived",
      derived: fact,
      from: fact.formula ? formulaInWords(fact.formula, systems) : nameOf(fact.source),
      why: fact.note ?? "",
    }),
  );
  conflicts.sort((a, b) => rankOf(a) - rankOf(b) || largestOf(b) - largestOf(a));
  return [...conflicts, ...derived.filter(({ key }) => !named.has(key))];
}

/** Refer to the first of the shown numbers with the same reason, so that each is read once. */
function withReferences(entries: Entry[]): Entry[] {
  const first = new Map<string, string>();
  return entries.map((entry) => {
    const sameAs = first.get(entry.why);
    if (sameAs) return { ...entry, sameAs };
    if (entry.why) first.set(entry.why, `${entry.subject} ${entry.name}`);
    return entry;
  });
}

const QUERY = makeQuery(CONFLICTS, {});

export function Disagreements({ route }: { route: Route }) {
  const loaded = useQuery(QUERY);
  return (
    <article>
      <header class="title">
        <h1>Where sources disagree</h1>
        <p>{loaded.data ? pluralize(entriesOf(loaded.data).length, "number") : "…"}</p>
        <div class="tools">
          <CopyQueries queries={[QUERY]} />
        </div>
      </header>
      <Loading result={loaded}>{(data) => <Entries entries={entriesOf(data)} route={route} />}</Loading>
    </article>
  );
}

function Entries({ entries, route: { subject, options } }: { entries: Entry[]; route: Route }) {
  const { where = "", of: wanted = "" } = options;
  const opened = entries.find(({ key }) => key === wanted);
  const chosen = opened?.section ?? (SECTIONS.some(([id]) => id === subject) ? subject : "");
  useEffect(() => {
    if (opened) document.getElementById(wanted)?.scrollIntoView({ block: "center" });
  }, [wanted]);
  const texts = ({ key, subject, name, conflict, derived }: Entry) => [
    key,
    subject,
    name,
    ...(conflict?.facts ?? (derived ? [derived] : [])).flatMap(({ value, source }) => [value, source.title]),
  ];
  const shown = entries.filter((entry) => (where ? passes(where, texts(entry)) : entry.section === chosen));
  return (
    <>
      <FactFilter
        view="disagreements"
        sections={SECTIONS.map(([id, name]) => ({
          id,
          name,
          count: entries.filter(({ section }) => section === id).length,
        }))}
        chosen={chosen}
        where={where}
        placeholder="HBM, Trainium3, EFA…"
      />
      <p class="quiet">
        Bandwidths are of one direction; what a source gives as the sum of both is halved. The value used comes from the
        seed documents, else from the vendor’s documentation, its source code or third parties, the newest first. Values
        that are computed instead stand first, then the largest differences; announced fleets are last.
      </p>
      {shown.length === 0 && <p class="card">{where ? "No number matches the filter." : "None."}</p>}
      {SECTIONS.map(([id, , title]) => {
        const listed = withReferences(shown.filter(({ section }) => section === id));
        if (!listed.length) return null;
        return (
          <section key={id} class="card flush disagreements" aria-label={title}>
            <h2>{title}</h2>
            <div class="heads" aria-hidden="true">
              <span>Number</span>
              <span class="used">Value used</span>
              {id === "derived" ? (
                <span class="others">From</span>
              ) : (
                <span class="others other">
                  <span class="value">Other values</span>
                  <span class="difference">{id === "" && "Differ by"}</span>
                  <span>Source</span>
                </span>
              )}
              <span class="reason">Note</span>
            </div>
            {listed.map((entry) => (
              <Disagreement key={entry.key} entry={entry} isWanted={entry.key === wanted} />
            ))}
          </section>
        );
      })}
    </>
  );
}

function Disagreement({
  entry: { key, subject, name, conflict, derived, from, why, computed, sameAs },
  isWanted,
}: {
  entry: Entry;
  isWanted: boolean;
}) {
  const facts = conflict?.facts ?? [];
  const used = computed ?? facts[0];
  const different = facts.filter(
    ({ value }, at) => value !== used?.value && at === facts.findIndex((other) => other.value === value),
  );
  const attribute = (conflict ?? derived)?.attribute ?? "";
  const titlesOf = (value: string) =>
    [...new Set(facts.filter((fact) => fact.value === value).map(({ source }) => nameOf(source)))].join("; ");
  return (
    <details id={key} class={isWanted ? "wanted" : undefined} open={isWanted}>
      <summary>
        <h3>
          {subject} <span>{name}</span>
        </h3>
        <span class="used">
          <strong>{asWritten(attribute, used?.value ?? derived?.value ?? "")}</strong>{" "}
          {computed ? (
            <span class="quiet source computed">computed, the sum of its {computed.parts}</span>
          ) : (
            facts[0] && <SourceLine text={nameOf(facts[0].source)} />
          )}
        </span>
        <span class="quiet others" data-name={conflict ? "others" : "from"}>
          {conflict
            ? different.length
              ? different.map((other) => (
                  <span key={other.value} class="other">
                    <span class="value">{asWritten(attribute, other.value)}</span>{" "}
                    <span class="difference">{percentOf(differenceOf(used, other))}</span>{" "}
                    <SourceLine text={titlesOf(other.value)} />
                  </span>
                ))
              : "another unit"
            : from}
        </span>
        {why && <span class="quiet reason">{sameAs ? `As for ${sameAs}.` : why}</span>}
      </summary>
      {conflict && <Sources name={`${subject}, ${name}`} conflict={conflict} isUsed={!computed} />}
      {derived && (
        <div class="inner">
          <p>
            {nameOf(derived.source)}: {citation(derived)}
          </p>
          {derived.note && <p>{derived.note}</p>}
        </div>
      )}
    </details>
  );
}

const SourceLine = ({ text }: { text: string }) => <span class="quiet source">{text}</span>;

interface SourcesProps {
  name: string;
  conflict: Conflict;
  isUsed: boolean;
}

function Sources({ name, conflict: { attribute, disagreement, note, facts }, isUsed }: SourcesProps) {
  return (
    <div class="inner">
      {DIFFERENCES[disagreement] && <p>{DIFFERENCES[disagreement]}</p>}
      {note && <p>{note}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section class="scroll" aria-label={name} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th>Value</th>
              <th>Source</th>
              <th>Quote</th>
              <th>Read as</th>
            </tr>
          </thead>
          <tbody>
            {facts.map((fact, index) => (
              <tr key={index}>
                <td>
                  {index === 0 && isUsed ? (
                    <strong>{asWritten(attribute, fact.value)} (used)</strong>
                  ) : (
                    asWritten(attribute, fact.value)
                  )}
                </td>
                <td>
                  {nameOf(fact.source)}
                  <span class="quiet kind">
                    {[KINDS[fact.source.kind], fact.source.date].filter(Boolean).join(", ")}
                  </span>
                </td>
                <td>{citation(fact)}</td>
                <td>
                  {[fact.readingUnit, DIRECTIONS[fact.readingDirection ?? ""], fact.readingReason]
                    .filter(Boolean)
                    .join("; ")}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}
