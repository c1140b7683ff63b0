// Findings of drift that no incident shows, because their parts are up until `trninv drift --apply` sets them down.
import { graphql, makeQuery, useQuery } from "../api";
import { Address, CopyQueries, Loading } from "../parts";
import { href, type Route } from "../route";
import { type Column, Row, SimpleTable } from "../simpletable";
import { number, pluralize } from "../words";

const UNAPPLIED = graphql(`
  query UnappliedFindings($scope: Address) {
    unappliedFindings(scope: $scope, first: 1000) { totalCount nodes { id rule address observed } }
  }
`);

const COLUMNS: Column[] = [["Part"], ["Rule"], ["Observed"], ["Finding", "number roomy"]];

export function Findings({ route: { subject } }: { route: Route }) {
  const query = makeQuery(UNAPPLIED, { scope: subject || null });
  return (
    <Loading result={useQuery(query)} page={subject || "Findings"}>
      {({ unappliedFindings: { totalCount, nodes } }) => (
        <article>
          <header class="title">
            <h1>{subject || "Findings"}</h1>
            <p>{pluralize(totalCount, "high finding")} of drift on parts that are up</p>
            <div class="tools">
              <CopyQueries queries={[query]} />
            </div>
          </header>
          {nodes.length > 0 && (
            <section class="card flush">
              <SimpleTable name="Findings of drift" columns={COLUMNS}>
                {nodes.map(({ id, rule, address, observed }) => (
                  <Row key={id} content={`${rule} ${observed}`}>
                    <th scope="row">
                      <a href={href("at", address)}>
                        <Address text={address} />
                      </a>
                    </th>
                    <td>{rule}</td>
                    <td>{observed}</td>
                    <td class="number roomy">{id}</td>
                  </Row>
                ))}
              </SimpleTable>
            </section>
          )}
          {nodes.length > 0 && (
            <p class="quiet">
              {totalCount > nodes.length && `Showing the first ${number(nodes.length)}. `}
              No incident shows them. <code class="nowrap">{`trninv drift ${subject && `${subject} `}--apply`}</code>{" "}
              sets down what they report as failed.
            </p>
          )}
        </article>
      )}
    </Loading>
  );
}
