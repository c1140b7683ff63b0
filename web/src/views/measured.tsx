// Measured bandwidths of a place by message size, beside the limit of the wiring at their time.
import { graphql, makeQuery, type Result, useQuery } from "../api";
import { CopyQueries, DownloadSvg, Loading, svgOf } from "../parts";
import { Picture } from "../picture";
import { href, type Route } from "../route";
import { type Column, SimpleTable } from "../simpletable";
import { formatDateTime } from "../state";
import { gigabytes, pluralize } from "../words";

const MEASURED = graphql(`
  query Measured($scope: Address!) {
    measuredBandwidth(scope: $scope) {
      scope runsSize impossible definition
      runs {
        operation address peer machine measuredAt dataType chips
        size { bytes gibibytes } bandwidth { gigabytesPerSecond } limit { gigabytesPerSecond } share breaks
      }
    }
  }
`);

type Measured = Result<typeof MEASURED>["measuredBandwidth"];
type Run = Measured["runs"][number];

/** What to check if a measurement is above its limit, which is impossible. */
const CHECKS: Record<NonNullable<Run["breaks"]>, string> = {
  UNITS: "GiB taken for GB, or bits for bytes",
  DIRECTION: "both directions are counted together",
  PATH: "the wiring had no path between these places",
  RANKS: "the size is that of one rank, or the ranks ran on other chips",
};

const COLUMNS: Column[] = [
  ["measured at (UTC)"],
  ["operation"],
  ["type", "roomy"],
  ["place"],
  ["chips", "number roomy"],
  ["size", "number"],
  ["measured", "number"],
  ["limit", "number"],
  ["share", "number"],
];

export function MeasuredView({ route }: { route: Route }) {
  const query = makeQuery(MEASURED, { scope: route.subject });
  return (
    <Loading result={useQuery(query)} page={route.subject}>
      {({ measuredBandwidth: answer }) => (
        <article>
          <header class="title">
            <h1>{answer.scope}: measured</h1>
            <p>{pluralize(answer.runsSize, "measurement")}, as shares of the limit of the wiring at their time</p>
            <nav class="tools" aria-label="Measured">
              <a href={href("at", answer.scope)}>{answer.scope}</a>
              <CopyQueries queries={[query]} />
              <DownloadSvg name={`${answer.scope} measured`} picture={svgOf("measurements")} />
            </nav>
          </header>
          {answer.runsSize > 0 ? <Runs answer={answer} /> : <Nothing />}
        </article>
      )}
    </Loading>
  );
}

function Nothing() {
  return (
    <p>
      No measurement is stored. Import some: <code>trninv import nccom-test FILE --host SERVER</code>
    </p>
  );
}

function Runs({ answer }: { answer: Measured }) {
  return (
    <>
      {answer.impossible > 0 && (
        <section class="card" aria-label="Impossible">
          <h2>{pluralize(answer.impossible, "measurement")} above the limit: impossible</h2>
          <ul>
            {Object.entries(CHECKS).map(([breaks, check]) => {
              const count = answer.runs.filter((run) => run.breaks === breaks).length;
              return (
                count > 0 && (
                  <li key={breaks}>
                    <strong>{breaks.toLowerCase()}</strong> ({count}): check whether {check}.
                  </li>
                )
              );
            })}
          </ul>
        </section>
      )}
      <section class="card" aria-label="By message size">
        <h2>Share of the limit by message size</h2>
        <Picture name="measurements" options={{ scope: answer.scope }} />
        <p class="quiet">{answer.definition}.</p>
      </section>
      <SimpleTable name="Measurements" columns={COLUMNS}>
        {answer.runs.map((run, index) => (
          <Line key={index} run={run} />
        ))}
      </SimpleTable>
      {answer.runs.length < answer.runsSize && <p>Only the latest {answer.runs.length} are shown.</p>}
    </>
  );
}

const MEBIBYTE = 2 ** 20;

/** A size in the largest unit that is not below 1. */
const sizeText = ({ bytes, gibibytes }: Run["size"]) => {
  const count = Number(bytes);
  if (gibibytes >= 1) return `${+gibibytes.toFixed(2)} GiB`;
  return count >= MEBIBYTE ? `${+(count / MEBIBYTE).toFixed(2)} MiB` : `${+(count / 1024).toFixed(2)} KiB`;
};

function Line({ run }: { run: Run }) {
  return (
    <tr>
      <td>{formatDateTime(run.measuredAt)}</td>
      <td>{run.operation}</td>
      <td class="roomy">{run.dataType}</td>
      <td>
        <a href={href("at", run.address)}>{run.address}</a>
        {run.peer && (
          <>
            {" to "}
            <a href={href("at", run.peer)}>{run.peer}</a>
          </>
        )}
      </td>
      <td class="number roomy">{run.chips || ""}</td>
      <td class="number">{sizeText(run.size)}</td>
      <td class="number">{gigabytes(run.bandwidth)}</td>
      <td class="number">{run.limit ? gigabytes(run.limit) : ""}</td>
      <td class="number">
        {run.share !== null && `${(100 * run.share).toFixed(1)} %`}
        {run.breaks && <strong> impossible: {run.breaks.toLowerCase()}</strong>}
      </td>
    </tr>
  );
}
