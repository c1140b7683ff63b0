// Reports: the list, and one with its parameters, its rows, a plot where it helps, and CSV.
import { useState } from "preact/hooks";
import { type ApiError, asking, download, graphql, type Result, useAsked } from "../api";
import { Plot, plotOf } from "../drawing/plot";
import { saved } from "../drawing/save";
import { Copy, Download, drawn, Failure, Shown, Unshown } from "../parts";
import { change, href, type Route } from "../route";
import { counted, exact } from "../words";

const REPORTS = graphql(`
  query Reports { reports { name title answers parameters { name default says } } }
`);

const ROWS = graphql(`
  query Report($name: String!, $values: [ReportValue!]) {
    report(name: $name, values: $values) { columns rows truncated }
  }
`);

const LIST = asking(REPORTS, {});
type Report = Result<typeof REPORTS>["reports"][number];

export function Reports({ route }: { route: Route }) {
  return (
    <Shown of={useAsked(LIST)} page="Reports">
      {({ reports }) => {
        if (!route.of) return <List reports={reports} />;
        const report = reports.find((each) => each.name === route.of);
        if (report) return <One report={report} route={route} />;
        return (
          <Unshown page="Reports">
            <p class="failure">There is no report {route.of.slice(0, 80)}.</p>
          </Unshown>
        );
      }}
    </Shown>
  );
}

function List({ reports }: { reports: Report[] }) {
  return (
    <article>
      <header class="title">
        <h1>Reports</h1>
        <div class="tools">
          <Copy asked={[LIST]} />
        </div>
      </header>
      <ul class="cards">
        {reports.map((report) => (
          <li key={report.name} class="card">
            <h2>
              <a href={href("reports", report.name)}>{report.title}</a>
            </h2>
            <p>{report.answers}</p>
          </li>
        ))}
      </ul>
    </article>
  );
}

function One({ report, route }: { report: Report; route: Route }) {
  const given = report.parameters.flatMap(({ name }) => {
    const value = route.options[name];
    return value === undefined ? [] : [{ name, value }];
  });
  const asked = asking(ROWS, { name: report.name, values: given });
  const loaded = useAsked(asked);
  const [refused, setRefused] = useState<ApiError | null>(null);
  const csv = () => {
    const query = new URLSearchParams(given.map(({ name, value }) => [name, value])).toString();
    download(`reports/${encodeURIComponent(report.name)}.csv?${query}`).then(
      (content) => saved(`${report.name}.csv`, content, "text/csv"),
      setRefused,
    );
  };
  return (
    <article>
      <header class="title">
        <h1>{report.title}</h1>
        <p>{report.answers}</p>
        <div class="tools">
          <a href={href("reports")}>All reports</a>
          <Copy asked={[asked]} />
          <button type="button" onClick={csv}>
            Download CSV
          </button>
        </div>
      </header>
      {refused && <Failure error={refused} />}
      {report.parameters.length > 0 && (
        <form class="ends" onSubmit={(event) => event.preventDefault()}>
          {report.parameters.map(({ name, default: usual, says }) => (
            <label key={name}>
              {name}{" "}
              <input
                name={name}
                value={route.options[name] ?? usual}
                onChange={(event) =>
                  change({ [name]: event.currentTarget.value === usual ? undefined : event.currentTarget.value })
                }
              />{" "}
              <span class="quiet">{says}</span>
            </label>
          ))}
        </form>
      )}
      <Shown of={loaded}>
        {({ report: { columns, rows, truncated } }) => (
          <Table name={report.name} columns={columns} rows={rows as Cell[][]} truncated={truncated} />
        )}
      </Shown>
    </article>
  );
}

type Cell = string | number | boolean | null;

function Table({
  name,
  columns,
  rows,
  truncated,
}: {
  name: string;
  columns: string[];
  rows: Cell[][];
  truncated: boolean;
}) {
  const plot = plotOf(name, columns, rows);
  return (
    <>
      {plot && (
        <>
          <Plot id="plot" plot={plot} />
          <Download name={name} picture={drawn("plot")} />
        </>
      )}
      <p class="quiet">
        {counted(rows.length, "row")}
        {truncated && ": there are more; trninv report {name} --limit has them"}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section class="scroll" aria-label="Rows" tabIndex={0}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column.replaceAll("_", " ")}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                {row.map((cell, column) => (
                  <td key={columns[column]} class={typeof cell === "number" ? "number" : ""}>
                    {typeof cell === "number" ? exact(cell) : String(cell ?? "")}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}
