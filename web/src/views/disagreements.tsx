// Numbers on which sources disagree: what each states, and which one is used.
import { useEffect } from "preact/hooks";
import { graphql, makeQuery, useQuery } from "../api";
import { CopyQueries, Loading } from "../parts";
import type { Route } from "../route";
import { citation, pluralize } from "../words";

const CONFLICTS = graphql(`
  query Disagreements {
    conflicts(first: 1000) {
      nodes {
        subject attribute disagreement note
        facts { value quote readingUnit readingDirection readingReason source { title } }
      }
    }
    facts(filter: { picked: { eq: true }, disputed: { eq: true } }, first: 1000) {
      nodes { subject attribute value quote formula note source { title } }
    }
  }
`);

const DIRECTIONS: Record<string, string> = { one: "one direction", both: "sum of both directions" };

const DIFFERENCES: Record<string, string> = {
  UNIT: "The same value, given in a unit that reads as another one.",
  ROUNDING: "The same value, rounded.",
};

const nameOf = ({ subject, attribute }: { subject: string; attribute: string }) => `${subject} ${attribute}`;

const QUERY = makeQuery(CONFLICTS, {});

export function Disagreements({ route }: { route: Route }) {
  const loaded = useQuery(QUERY);
  const wanted = route.options.of ?? "";
  useEffect(() => {
    if (loaded.data) document.getElementById(wanted)?.scrollIntoView();
  }, [loaded.data, wanted]);
  return (
    <article>
      <header class="title">
        <h1>Where sources disagree</h1>
        <div class="tools">
          <CopyQueries queries={[QUERY]} />
        </div>
      </header>
      <Loading result={loaded}>
        {({ conflicts: { nodes: conflicts }, facts }) => (
          <>
            <p>
              Documents disagree on {pluralize(conflicts.length, "number")},{" "}
              {conflicts.filter(({ disagreement }) => disagreement !== "VALUE").length} of them only in rounding or
              unit. The first row is the value used.
            </p>
            {conflicts.map(({ subject, attribute, disagreement, note, facts }) => {
              const name = nameOf({ subject, attribute });
              return (
                <section key={name} id={name} class={name === wanted ? "card wanted" : "card"}>
                  <h2>{name.replaceAll("_", " ")}</h2>
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
                            <td>{index === 0 ? <strong>{fact.value}</strong> : fact.value}</td>
                            <td>{fact.source.title}</td>
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
                </section>
              );
            })}
            <h2>Disputed because of their inputs or notation</h2>
            {facts.nodes
              .filter((fact) => !conflicts.some((conflict) => nameOf(conflict) === nameOf(fact)))
              .map((fact) => (
                <section key={nameOf(fact)} id={nameOf(fact)} class={nameOf(fact) === wanted ? "card wanted" : "card"}>
                  <h2>{nameOf(fact).replaceAll("_", " ")}</h2>
                  <p>
                    <strong>{fact.value}</strong>, {fact.source.title}: {citation(fact)}
                  </p>
                  {fact.note && <p>{fact.note}</p>}
                </section>
              ))}
          </>
        )}
      </Loading>
    </article>
  );
}
