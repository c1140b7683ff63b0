// Where the inventory's data come from: what feeds it, the documented numbers by generation, and the documents.
import { useState } from "preact/hooks";
import { graphql, makeQuery, type Result, useQuery } from "../api";
import { CopyQueries, DISPUTED, DisputeMark, Loading, NO_MARK } from "../parts";
import { href, type Route } from "../route";
import "../style/facts.css";
import { citation, pluralize } from "../words";
import { asWritten, type Computed, computedOf, DocumentTable, documentsOf } from "./cited";
import { feedsOf } from "./discovery";
import { FactFilter } from "./factfilter";
import { attributeName, passes, subjectName, TOPICS, topicOf } from "./factnames";
import { Feeds } from "./feeds";

const NUMBERS = graphql(`
  query Numbers {
    facts(filter: { picked: { eq: true } }, first: 1000) {
      nodes {
        subject attribute value exact quote formula dispute assumed note
        source { title publisher date kind }
        others { value exact formula source { title publisher date kind } }
      }
    }
    systems { slug name efaBandwidth { bytesPerSecond gigabytesPerSecond } }
    discoveries(first: 100) { nodes { target readAt late everySeconds error clusters } }
    observations(last: 100) { nodes { source seenAt } }
  }
`);

const FACTS = makeQuery(NUMBERS, {});

/** Subjects side by side, by generation. */
const TABLES: [string, string[]][] = [
  ["Chips", ["inferentia2", "trainium1", "trainium2", "trainium3"]],
  ["Cores", ["neuroncore-v2", "neuroncore-v3", "neuroncore-v4"]],
  [
    "Servers",
    [
      "inf2.xlarge",
      "inf2.8xlarge",
      "inf2.24xlarge",
      "inf2.48xlarge",
      "trn1.2xlarge",
      "trn1.32xlarge",
      "trn1n.32xlarge",
      "trn2.3xlarge",
      "trn2-16.48xlarge",
      "trn3-gen1-server",
      "trn3-gen2-server",
    ],
  ],
  ["UltraServers", ["u-trn2x64", "trn3-gen1", "trn3-gen2"]],
  ["UltraClusters", ["trn1-ultracluster", "trn2-ultracluster", "rainier", "trn3-ultracluster"]],
  [
    "Links",
    [
      "neuronlink-v2-inf2",
      "neuronlink-v2",
      "neuronlink-v2-trn1n",
      "neuronlink-v3-plane",
      "neuronlink-v3-ring",
      "neuronlink-v4-server",
      "neuronlink-v4-rack",
      "neuronlink-v4-twin",
      "efa-trn2.3xlarge",
      "efa-100",
      "efa-200",
      "efa-trn3",
    ],
  ],
];

/** Characters of a value that stays on one line. */
const SHORT = 20;
/** Columns that fit on a printed page. */
const COLUMNS = 4;

const [OTHERS, DOCUMENTS] = ["others", "documents"];
const LISTED = new Set(TABLES.flatMap(([, subjects]) => subjects));
const idOf = (name: string) => name.toLowerCase();
const NAMES = new Map([
  ...TABLES.map(([name]) => [idOf(name), name] as const),
  [OTHERS, "Everything else"],
  [DOCUMENTS, "Documents"],
]);
const SECTIONS = new Map(TABLES.flatMap(([name, subjects]) => subjects.map((subject) => [subject, idOf(name)])));
const sectionOf = ({ subject }: Fact) => SECTIONS.get(subject) ?? OTHERS;

export function Sources({ route }: { route: Route }) {
  const facts = useQuery(FACTS);
  const feeds = facts.data ? feedsOf(facts.data) : [];
  return (
    <article>
      <header class="title">
        <h1>Sources</h1>
        <p>{facts.data ? summarize(facts.data.facts.nodes) : "…"}</p>
        <div class="tools">
          <a href={href("disagreements")}>Where sources disagree</a>
          <CopyQueries queries={[FACTS]} />
        </div>
      </header>
      <Loading result={facts}>
        {(data) => (
          <>
            {feeds.length > 0 && <Feeds feeds={feeds} />}
            <Numbers data={data} route={route} />
            {!feeds.length && <Feeds feeds={feeds} />}
          </>
        )}
      </Loading>
    </article>
  );
}

type Answer = Result<typeof NUMBERS>;
type Fact = Answer["facts"]["nodes"][number] & { computed?: Computed | undefined };

const summarize = (facts: Fact[]) =>
  `${pluralize(facts.length, "documented number")} from ${pluralize(documentsOf(facts).length, "document")}`;

function Numbers({ data, route }: { data: Answer; route: Route }) {
  const where = route.options.where ?? "";
  const chosen = NAMES.has(route.subject) ? route.subject : idOf(TABLES[0]?.[0] ?? "");
  const systems = new Map(data.systems.map(({ slug, name }) => [slug, name]));
  const all = data.facts.nodes.map(
    (fact): Fact => ({ ...fact, computed: computedOf(fact, fact.others, data.systems) }),
  );
  const documents = documentsOf(all);
  const sections = [...NAMES].map(([id, name]) => ({
    id,
    name,
    count: id === DOCUMENTS ? documents.length : all.filter((fact) => sectionOf(fact) === id).length,
  }));
  const texts = (fact: Fact) => [
    subjectName(fact.subject, systems),
    attributeName(fact.attribute, fact.subject),
    fact.value,
    fact.source.title,
    `${fact.subject} ${fact.attribute}`,
  ];
  const shown = where
    ? all.filter((fact) => passes(where, texts(fact)))
    : all.filter((fact) => sectionOf(fact) === chosen);
  return (
    <>
      <FactFilter view="sources" sections={sections} chosen={chosen} where={where} placeholder="HBM, EFA, Trn2…" />
      {chosen === DOCUMENTS && !where && <DocumentTable documents={documents} />}
      <p class="quiet" hidden={chosen === DOCUMENTS && !where}>
        Bandwidths are of one direction. Select a number for its source; <span class="mark">{DISPUTED}</span> marks
        where sources disagree; — is not documented.
      </p>
      {where && shown.length === 0 && <p class="card">No number matches the filter.</p>}
      {sections.map(({ id, name }) => {
        const facts = shown.filter((fact) => sectionOf(fact) === id);
        if (!facts.length) return null;
        return id === OTHERS ? (
          <List key={id} name={name} facts={facts} systems={systems} />
        ) : (
          <NumbersAndWords key={id} name={name} facts={facts} systems={systems} />
        );
      })}
    </>
  );
}

interface SectionProps {
  name: string;
  facts: Fact[];
  systems: Map<string, string>;
}

/** Whether a value is a number, with a unit or without. */
const isNumber = ({ value }: Pick<Fact, "value">) => /^\$?[\d.,]+( \S+)?$/.test(value);

/** The unit that all numbers of a row have. */
function unitOf(facts: Fact[]): string {
  const units = new Set(
    facts
      .filter(isNumber)
      .map(({ attribute, value }) => /^[\d.,]+ ([^\s\d]+)$/.exec(asWritten(attribute, value))?.[1] ?? ""),
  );
  return units.size === 1 ? ([...units][0] ?? "") : "";
}

/** The newest first. */
const subjectsOf = (facts: Fact[]) =>
  [...LISTED].filter((subject) => facts.some((fact) => fact.subject === subject)).reverse();

/** The attributes with numbers as a table of subjects side by side, and the others as a list. */
function NumbersAndWords({ name, facts, systems }: SectionProps) {
  const counted = new Set(facts.filter(isNumber).map(({ attribute }) => attribute));
  const numbers = facts.filter(({ attribute }) => counted.has(attribute));
  const words = subjectsOf(facts).flatMap((subject) =>
    facts.filter((fact) => fact.subject === subject && !counted.has(fact.attribute)),
  );
  return (
    <>
      {numbers.length > 0 && <Table name={name} facts={numbers} systems={systems} />}
      {words.length > 0 && <List name={`${name}, in words`} facts={words} systems={systems} />}
    </>
  );
}

/** What comes first in its topic: memory by its distance from the cores, then compute by type. */
const FIRST = [
  ...["device_memory", "device_memory_bandwidth", "hbm_stacks", "sbuf", "psum"],
  ...["bf16", "fp8", "mxfp8", "sparse", "fp32", "int8", "tensor"].map((type) => `${type}_compute`),
];
const rankOf = (attribute: string) => FIRST.indexOf(attribute) + 1 || FIRST.length + 1;

/** Rows by topic, quantities with the same unit together, then counts; of these, those with the most values first. */
function Table({ name, facts, systems }: SectionProps) {
  const byName = new Map(facts.map((fact) => [`${fact.subject} ${fact.attribute}`, fact]));
  const subjects = subjectsOf(facts);
  const heads = new Map(subjects.map((subject) => [subject, subjectName(subject, systems).replace(/ server$/, "")]));
  const attributes = [...new Set(facts.map((fact) => fact.attribute))]
    .map((attribute) => {
      const all = facts.filter((fact) => fact.attribute === attribute);
      return { attribute, name: attributeName(attribute), unit: unitOf(all), count: all.length };
    })
    .sort(
      (a, b) =>
        rankOf(a.attribute) - rankOf(b.attribute) ||
        Number(!a.unit) - Number(!b.unit) ||
        a.unit.localeCompare(b.unit) ||
        b.count - a.count ||
        a.name.localeCompare(b.name),
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="card flush scroll" aria-label={name} tabIndex={0}>
      <table class={subjects.length > COLUMNS ? "full numbers frozen sparse" : "full numbers frozen"}>
        <thead>
          <tr>
            <th scope="col">{name}</th>
            {subjects.map((subject) => (
              <th key={subject} scope="col">
                <Head text={heads.get(subject) ?? ""} />
              </th>
            ))}
          </tr>
        </thead>
        {TOPICS.map(([topic]) => [topic, attributes.filter(({ attribute }) => topicOf(attribute) === topic)] as const)
          .filter(([, rows]) => rows.length)
          .map(([topic, rows]) => (
            <tbody key={topic}>
              <tr class="topic">
                <th scope="rowgroup" colSpan={1 + subjects.length}>
                  {topic}
                </th>
              </tr>
              {rows.map(({ attribute, name, unit }) => (
                <tr key={attribute}>
                  <th scope="row">
                    {name}
                    {unit && <span class="unit">, {unit}</span>}
                  </th>
                  {subjects.map((subject) => (
                    <td key={subject} data-of={heads.get(subject)}>
                      <Documented fact={byName.get(`${subject} ${attribute}`)} unit={unit} isAligned />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          ))}
      </table>
    </section>
  );
}

/** A column's name, which ends where its numbers do: the room of their mark never wraps alone. */
function Head({ text }: { text: string }) {
  const words = text.split(" ");
  const last = words.pop();
  return (
    <>
      {words.join(" ")}{" "}
      <span class="nowrap">
        {last}
        {NO_MARK}
      </span>
    </>
  );
}

/** Facts about subjects that have little in common, one a row. */
function List({ name, facts, systems }: SectionProps) {
  return (
    <section class="card flush" aria-label={name}>
      <table class="full listed">
        <thead>
          <tr>
            <th scope="col">{name}</th>
            <th scope="col">Attribute</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {facts.map((fact, index) => (
            <tr key={`${fact.subject} ${fact.attribute}`}>
              {facts[index - 1]?.subject !== fact.subject && (
                <th scope="row" rowSpan={facts.filter(({ subject }) => subject === fact.subject).length}>
                  {subjectName(fact.subject, systems)}
                </th>
              )}
              <td>{attributeName(fact.attribute, fact.subject)}</td>
              <td>
                <Documented fact={fact} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface DocumentedProps {
  fact: Fact | undefined;
  /** The unit that the row names. */
  unit?: string;
  /** Whether digits stay below each other. */
  isAligned?: boolean;
}

/** A number with its source; without its unit, if the row names it. */
function Documented({ fact, unit = "", isAligned }: DocumentedProps) {
  const [anchor, setAt] = useState<DOMRect | null>(null);
  if (!fact)
    return (
      <span class="none">
        <span aria-hidden="true">—</span>
        <span class="unseen">not documented</span>
        {isAligned && NO_MARK}
      </span>
    );
  const id = `source-${fact.subject}-${fact.attribute}`;
  const value = asWritten(fact.attribute, fact.value);
  const inUnit = (text: string) => (unit && text.endsWith(` ${unit}`) ? text.slice(0, -unit.length - 1) : text);
  const disagree = fact.others.filter((other) => other.value !== fact.value);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only shows what is said of the number
    <span
      class={fact.value.length > SHORT ? "fact" : "fact short"}
      onMouseEnter={(event) => setAt(event.currentTarget.getBoundingClientRect())}
      onFocusIn={(event) => setAt(event.currentTarget.getBoundingClientRect())}
      onMouseLeave={() => setAt(null)}
      onFocusOut={() => setAt(null)}
      onKeyDown={(event) => event.key === "Escape" && setAt(null)}
    >
      <button type="button" class="plain" aria-describedby={anchor ? id : undefined}>
        {inUnit(value)}
        {fact.assumed && <span class="assumed"> assumed</span>}
      </button>
      {fact.dispute ? (
        <DisputeMark of={`${fact.subject} ${fact.attribute}`} dispute={fact.dispute} />
      ) : (
        isAligned && NO_MARK
      )}
      {fact.computed && (
        <span class="quiet computed">
          used: {inUnit(fact.computed.value)}, sum of {fact.computed.parts}
          {isAligned && NO_MARK}
        </span>
      )}
      {anchor && (
        <span role="tooltip" id={id} style={tooltipPosition(anchor)}>
          {fact.source.title}: {citation(fact)}
          {disagree.map((other) => (
            <span key={other.source.title}>
              <br />
              but {other.source.title}: {asWritten(fact.attribute, other.value)}
            </span>
          ))}
          {fact.note && (
            <>
              <br />
              {fact.note}
            </>
          )}
        </span>
      )}
    </span>
  );
}

/** Position below a number, or above it in the lower half of the window. */
function tooltipPosition(anchor: DOMRect) {
  const left = Math.min(anchor.left, innerWidth * 0.3);
  return anchor.bottom > innerHeight / 2 ? { left, bottom: innerHeight - anchor.top } : { left, top: anchor.bottom };
}
