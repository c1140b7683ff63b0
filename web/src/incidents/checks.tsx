// Checks of the service's file: the latest verdict, value and bounds of each, and why it does not pass.
import { useEffect, useState } from "preact/hooks";
import { graphql, makeQuery, type Result, runQuery, useQuery } from "../api";
import { useAsOf } from "../live";
import { Loading } from "../parts";
import { type Column, Row, SimpleTable } from "../simpletable";
import { formatDateTime, StateLabel } from "../state";

const CHECKS = graphql(`
  query Checks { checks { name verdict value bounds explanation changedAt } }
`);

type ChecksAnswer = Result<typeof CHECKS>;
type Check = NonNullable<ChecksAnswer["checks"]>[number];

export const QUERY = makeQuery(CHECKS, {});

/** The service evaluates checks after a change, so the results come later than the page's other data. */
const POLL = 3000;

const LABELS: Record<Check["verdict"], string> = {
  PASSED: "up",
  FAILED: "down",
  UNPROVEN: "degraded",
  ERROR: "maintenance",
};

const COLUMNS: Column[] = [
  ["Check"],
  ["Verdict"],
  ["Value", "number"],
  ["Bounds", "roomy"],
  ["Cause"],
  ["Since", "roomy"],
];

/** The checks, worst first; nothing at an earlier time, or if the service has no file of checks. */
export function Checks() {
  const { asof } = useAsOf();
  const result = useQuery(asof ? null : QUERY);
  const [latest, setLatest] = useState<ChecksAnswer>();
  useEffect(() => {
    setLatest(undefined);
    if (!result.data?.checks) return;
    const timer = setInterval(() => document.hidden || runQuery(QUERY).then(setLatest, () => undefined), POLL);
    return () => clearInterval(timer);
  }, [result.data]);
  if (asof || (result.data && !result.data.checks)) return null;
  return (
    <Loading result={result}>
      {(data) => {
        const checks = (latest ?? data).checks ?? [];
        return checks.length > 0 && <Table checks={checks} />;
      }}
    </Loading>
  );
}

function Table({ checks }: { checks: Check[] }) {
  const failed = checks.filter(({ verdict }) => verdict !== "PASSED");
  const passed = checks.filter(({ verdict }) => verdict === "PASSED");
  return (
    <section class="card flush" aria-labelledby="checks">
      <h2 id="checks">
        Checks: {passed.length} of {checks.length} passed
      </h2>
      <SimpleTable name="Results of checks" columns={COLUMNS}>
        {[...failed, ...passed].map(({ name, verdict, value, bounds, explanation, changedAt }) => (
          <Row key={name} content={`${verdict} ${value}`}>
            <th scope="row">{name}</th>
            <td>
              <StateLabel state={LABELS[verdict]}>{verdict.toLowerCase()}</StateLabel>
            </td>
            <td class="number">{value ?? "none"}</td>
            <td class="roomy">{bounds}</td>
            <td>{verdict === "PASSED" ? "" : explanation}</td>
            <td class="roomy">{formatDateTime(changedAt)}</td>
          </Row>
        ))}
      </SimpleTable>
    </section>
  );
}
