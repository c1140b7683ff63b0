// Documented numbers by generation.
import { useState } from "preact/hooks";
import { graphql, makeQuery, type Result, useQuery } from "../api";
import { CopyQueries, Loading } from "../parts";
import { href } from "../route";
import { citation } from "../words";

const NUMBERS = graphql(`
  query Numbers {
    facts(filter: { picked: { eq: true } }, first: 1000) {
      nodes {
        subject attribute value quote formula disputed assumed note
        source { title }
        others { value source { title } }
      }
    }
  }
`);

const FACTS = makeQuery(NUMBERS, {});

const DISCOVERIES = graphql(`
  query Discoveries {
    discoveries(first: 100) {
      nodes { target readAt lateAt everySeconds error }
    }
  }
`);

const TARGETS = makeQuery(DISCOVERIES, {});

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

/** Columns that fit on a printed page. */
const COLUMNS = 4;

/** What trninv discover pulls, and whether it is late. */
function Discoveries({ targets }: { targets: Result<typeof DISCOVERIES>["discoveries"]["nodes"] }) {
  if (targets.length === 0) return null;
  const now = new Date().toISOString();
  return (
    <section>
      <h2>Discovery</h2>
      <table>
        <thead>
          <tr>
            <th>target</th>
            <th>last read (UTC)</th>
            <th>every</th>
            <th>state</th>
          </tr>
        </thead>
        <tbody>
          {targets.map(({ target, readAt, lateAt, everySeconds, error }) => (
            <tr key={target}>
              <td>{target}</td>
              <td>{readAt?.slice(0, 19).replace("T", " ") ?? "never"}</td>
              <td>{everySeconds ? `${everySeconds} s` : "by hand"}</td>
              <td>{[lateAt && lateAt < now && "late", error].filter(Boolean).join("; ") || "ok"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Sources() {
  return (
    <article>
      <header class="title">
        <h1>Documented numbers</h1>
        <div class="tools">
          <a href="graphql">GraphiQL</a>
          <CopyQueries queries={[FACTS]} />
        </div>
      </header>
      <p>
        Hover or focus a number for its source. <span class="mark">⚠</span> marks where sources disagree:{" "}
        <a href={href("disagreements")}>all disagreements</a>.
      </p>
      <Loading result={useQuery(TARGETS)}>{(data) => <Discoveries targets={data.discoveries.nodes} />}</Loading>
      <Loading result={useQuery(FACTS)}>{(data) => <Numbers facts={data.facts.nodes} />}</Loading>
    </article>
  );
}

type Fact = Result<typeof NUMBERS>["facts"]["nodes"][number];

function Numbers({ facts }: { facts: Fact[] }) {
  const shown = new Set(TABLES.flatMap(([, subjects]) => subjects));
  const rest = [...new Set(facts.map((fact) => fact.subject))].filter((subject) => !shown.has(subject));
  return (
    <>
      {[...TABLES, ["Everything else", rest] as [string, string[]]].map(([name, subjects]) => (
        <Table key={name} name={name} subjects={subjects} facts={facts} />
      ))}
    </>
  );
}

function Table({ name, subjects, facts }: { name: string; subjects: string[]; facts: Fact[] }) {
  const byName = new Map(facts.map((fact) => [`${fact.subject} ${fact.attribute}`, fact]));
  const present = subjects.filter((subject) => facts.some((fact) => fact.subject === subject));
  const attributes = [
    ...new Set(facts.filter((fact) => present.includes(fact.subject)).map((fact) => fact.attribute)),
  ].sort();
  if (!present.length) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="scroll" aria-label={name} tabIndex={0}>
      <table class={present.length > COLUMNS ? "numbers sparse" : "numbers"}>
        <caption>{name}</caption>
        <thead>
          <tr>
            <th>one direction</th>
            {present.map((subject) => (
              <th key={subject} scope="col">
                {subject}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {attributes.map((attribute) => (
            <tr key={attribute}>
              <th scope="row">{attribute.replaceAll("_", " ")}</th>
              {present.map((subject) => (
                <td key={subject} data-of={subject}>
                  <Documented fact={byName.get(`${subject} ${attribute}`)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Documented({ fact }: { fact: Fact | undefined }) {
  const [anchor, setAt] = useState<DOMRect | null>(null);
  if (!fact) return null;
  const id = `source-${fact.subject}-${fact.attribute}`;
  const disagree = fact.others.filter((other) => other.value !== fact.value);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only shows what is said of the number
    <span
      class="fact"
      onMouseEnter={(event) => setAt(event.currentTarget.getBoundingClientRect())}
      onFocusIn={(event) => setAt(event.currentTarget.getBoundingClientRect())}
      onMouseLeave={() => setAt(null)}
      onFocusOut={() => setAt(null)}
      onKeyDown={(event) => event.key === "Escape" && setAt(null)}
    >
      <button type="button" class="plain" aria-describedby={anchor ? id : undefined}>
        {fact.value}
        {fact.assumed && <span class="assumed"> assumed</span>}
      </button>
      {(fact.disputed || disagree.length > 0) && (
        <a class="mark" href={href("disagreements", "", { of: `${fact.subject} ${fact.attribute}` })}>
          <span aria-hidden="true">⚠</span>
          <span class="unseen">sources disagree</span>
        </a>
      )}
      {anchor && (
        <span role="tooltip" id={id} style={tooltipPosition(anchor)}>
          {fact.source.title}: {citation(fact)}
          {disagree.map((other) => (
            <span key={other.source.title}>
              <br />
              but {other.source.title}: {other.value}
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
