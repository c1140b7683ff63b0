// Reports: the list, and one report with its parameters, rows, plot and CSV.
import { useMemo, useState } from "preact/hooks";
import { download, graphql, makeQuery, type Result, useQuery } from "../api";
import { useNarrow } from "../domain/wiring";
import { axesOf, type Chart, columnsOf, Plot, plotOf } from "../drawing/plot";
import { saveFile } from "../drawing/save";
import { QUERY as INCIDENTS } from "../incidents/documents";
import { useAsOf } from "../live";
import { timeOf } from "../palette/times";
import { Choice, CopyQueries, DISPUTED, DownloadSvg, ErrorPage, Loading, svgOf } from "../parts";
import { change, href, oneOf, type Route } from "../route";
import { formatDateTime, formatDuration, nounOf, shownTime } from "../state";
import "../style/tabs.css";
import { ByIncident, groupByIncident, haveIncidents } from "../table/incidents";
import { columnLabel, disputesOf, formatCell, naturalOrder, type Rows } from "../table/rows";
import { DataTable, type Shares, useVisibleRows } from "../table/table";
import { exact, number, pluralize } from "../words";
import { LostBandwidth } from "./lost";

const REPORTS = graphql(`
  query Reports { reportFormats reports { name title summary parameters { name default description } chart { x y by } } }
`);

const ROWS = graphql(`
  query Report($name: String!, $values: [ReportValue!]) {
    report(name: $name, values: $values) { columns rows truncated }
  }
`);

/** What is counted at once: the numbers of some reports. */
const COUNTS = graphql(`
  query ReportCounts {
    incidents(first: 1) { totalCount }
    servers(first: 1, filter: { state: { ne: UP } }) { totalCount }
    chips(first: 1, filter: { state: { ne: UP } }) { totalCount }
    switches(first: 1, filter: { state: { ne: UP } }) { totalCount }
    nics(first: 1, filter: { state: { ne: UP } }) { totalCount }
    networkNodes(first: 1, filter: { state: { ne: UP } }) { totalCount }
    links(first: 1, filter: { state: { ne: UP } }) { totalCount }
    jobs(first: 1, filter: { failedChips: { gt: 0 } }) { totalCount }
    all: chips(first: 1) { totalCount }
  }
`);

const LIST = makeQuery(REPORTS, {});
const NUMBERS = makeQuery(COUNTS, {});
type Report = Result<typeof REPORTS>["reports"][number];

export function Reports({ route }: { route: Route }) {
  return (
    <Loading result={useQuery(LIST)} page="Reports">
      {({ reports, reportFormats }) => {
        if (!route.subject) return <List reports={reports} />;
        const report = reports.find((report) => report.name === route.subject);
        if (report) return <One report={report} reports={reports} route={route} formats={reportFormats} />;
        return (
          <ErrorPage page="Reports">
            <p class="failure">Report {route.subject.slice(0, 80)} does not exist.</p>
          </ErrorPage>
        );
      }}
    </Loading>
  );
}

/** Reports by what a reader wants to know; others come last. */
const GROUPS: [title: string, names: string[]][] = [
  ["Health", ["unhealthy", "incidents", "jobs-with-failed-chips", "availability"]],
  ["Free capacity", ["free-servers", "free-blocks", "fragmentation", "free-units"]],
  ["Size and speed", ["capacity", "pools", "bandwidth", "ratios", "cost"]],
  ["Documents", ["documented", "disputed"]],
];

function groupsOf(reports: Report[]): [title: string, reports: Report[]][] {
  const grouped = GROUPS.map(([title, names]): [string, Report[]] => [
    title,
    names.flatMap((name) => reports.find((report) => report.name === name) ?? []),
  ]);
  const known = new Set(GROUPS.flatMap(([, names]) => names));
  const others = reports.filter(({ name }) => !known.has(name)).sort((a, b) => a.title.localeCompare(b.title));
  return [...grouped, ["Other", others] as [string, Report[]]].filter(([, members]) => members.length);
}

/** The number of a report, as far as it is known without running it. */
function answersOf(data: Result<typeof COUNTS> | undefined): Record<string, string> {
  if (!data) return {};
  const { incidents, servers, chips, switches, nics, networkNodes, links, jobs, all } = data;
  const unhealthy = [servers, chips, switches, nics, networkNodes, links];
  return {
    unhealthy: pluralize(
      unhealthy.reduce((sum, { totalCount }) => sum + totalCount, 0),
      "part",
    ),
    incidents: `${number(incidents.totalCount)} open`,
    "jobs-with-failed-chips": pluralize(jobs.totalCount, "job"),
    capacity: pluralize(all.totalCount, "chip"),
  };
}

function List({ reports }: { reports: Report[] }) {
  const answers = answersOf(useQuery(NUMBERS).data);
  return (
    <article>
      <header class="title">
        <h1>Reports</h1>
        <div class="tools">
          <CopyQueries queries={[LIST]} />
        </div>
      </header>
      {groupsOf(reports).map(([title, members]) => (
        <section key={title} class="card flush" aria-label={title}>
          <h2>{title}</h2>
          <ul class="rows report-list">
            {members.map(({ name, title, summary }) => (
              <li key={name}>
                <a href={href("reports", name)}>
                  <strong>{title}</strong>
                  <span class="summary">{summary}</span>
                  {answers[name] && <span class="answer">{answers[name]}</span>}
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </article>
  );
}

/** Options of the address that belong to the table, not to the report. */
const OF_TABLE = new Set(["sort", "where", "cols", "rows"]);

const ROWS_AS = { incidents: "By incident", parts: "Each part" };

/** Defaults that leave nothing out, in words. */
const WHOLE: Record<string, string> = {
  "": "all",
  "1970-01-01T00:00:00Z": "start of the history",
  "9999-12-31T00:00:00Z": "now",
};

interface Presentation {
  /** The columns that answer the report's question; the others can be chosen. */
  usual?: string[];
  totals?: string[];
  shares?: Shares;
  /** The period that it is of unless the address has another. */
  since?: string;
  /** Whether the rows are by their first column. */
  grouped?: boolean;
  /** What explains numbers that seem to contradict each other, above the rows. */
  lead?: (rows: Rows, until: number) => string;
  /** How to read its numbers, below the rows. */
  note?: string;
}

/** The sum of a column over the kinds that match. */
const sumOf = ({ columns, rows }: Rows, column: string, kinds: RegExp) =>
  rows
    .filter((row) => kinds.test(String(row[columns.indexOf("kind")])))
    .reduce((sum, row) => sum + Number(row[columns.indexOf(column)]), 0);

/** How much of the time each kind of part was up in all clusters, which weigh by their parts and their time. */
function shareOfKinds({ columns, rows }: Rows, until: number): string {
  const at = Object.fromEntries(columns.map((column, place) => [column, place]));
  const sums = new Map<string, [up: number, all: number]>();
  for (const row of rows) {
    const of = (column: string) => row[at[column] ?? -1] ?? null;
    const all = Number(of("parts")) * (until - Date.parse(String(of("measured_since"))));
    const [upBefore, before] = sums.get(String(of("kind"))) ?? [0, 0];
    sums.set(String(of("kind")), [upBefore + all * Number(of("share_up")), before + all]);
  }
  return [...sums]
    .map(([kind, [up, all]]) => `${nounOf(kind)} ${formatCell("share_up", up / all, 3)}\u00a0%`)
    .join(", ");
}

const PRESENTATIONS: Record<string, Presentation> = {
  availability: {
    usual: [
      ...["cluster", "kind", "share_up", "failures", "ongoing", "ongoing_with_server", "ended_repair_hours"],
      ...["mtbf_hours", "share_degraded", "share_down", "share_maintenance"],
    ],
    since: "7 d ago",
    grouped: true,
    lead: (rows, until) =>
      `Up in all of these clusters: ${shareOfKinds(rows, until)}. Worst first. ` +
      "Still down counts parts that failed themselves, not those that are down with their server.",
    note: "Mean repair: from the failure, of the repairs that ended; — if none did. MTBF: hours up or degraded per failure.",
  },
  bandwidth: {
    usual: [
      ...["kind", "share_lost", "gb_per_s_lost", "idle", "slower", "gb_per_s_now", "gb_per_s", "cables"],
      ...["gb_per_s_a_cable", "cable_disputed"],
    ],
    totals: ["gb_per_s_lost", "idle", "slower", "unhealthy", "gb_per_s_now", "gb_per_s", "links", "cables"],
    shares: { share_lost: ["gb_per_s_lost", "gb_per_s"] },
    lead: (rows) => {
      const lost = (kind: RegExp) => exact(sumOf(rows, "gb_per_s_lost", kind));
      return `Of ${lost(/./)} GB/s lost, ${lost(/\bhost$/)} are of chips to NICs, which Incidents do not count.`;
    },
    note: "Idle: the link or a part at one of its ends is down or in maintenance; slower: one of them is degraded. Some links of switches are bundles of cables.",
  },
  capacity: {
    usual: [
      ...["cluster", "chips", "chips_working", "chips_free", "hbm_gib", "bf16_tflops", "percent_of_chips"],
      ...["servers", "system", "hbm_of_a_chip_disputed", "bf16_of_a_chip_disputed"],
    ],
    totals: [
      ...["chips", "chips_working", "chips_free", "hbm_gib", "bf16_tflops"],
      ...["percent_of_chips", "servers", "domains"],
    ],
  },
};

const ALL = "all";
/** Periods that a report can be of, as its time may be typed. */
const PERIODS = { "24 h ago": "24 h", "7 d ago": "7 d", "30 d ago": "30 d", [ALL]: "All" };

/** When the period of a report starts, in words. */
const sinceOf = (report: string, { since, until }: Record<string, string>) =>
  since || (until ? undefined : PRESENTATIONS[report]?.since) || ALL;

const MINUTE = 60_000;

/** The values of a report's parameters: a time in words, such as 7 d ago, is the time that it means. */
function valuesOf({ name: report, parameters }: Report, options: Record<string, string>, asof: string) {
  const now = Math.floor(shownTime(asof) / MINUTE) * MINUTE;
  return parameters.flatMap(({ name, default: usual }) => {
    const value = OF_TABLE.has(name) ? undefined : name === "since" ? sinceOf(report, options) : options[name];
    if (value === undefined || (name === "since" && value === ALL)) return [];
    const isInWords = /^\d{4}-.*T/.test(usual) && !/^\d{4}-/.test(value);
    const time = isInWords ? timeOf(value, now) : undefined;
    return [{ name, value: time === undefined ? value : new Date(time).toISOString() }];
  });
}

interface OneProps {
  report: Report;
  reports: Report[];
  route: Route;
  /** Reports that the service has. */
  formats: string[];
}

function One({ report, reports, route, formats }: OneProps) {
  const { asof } = useAsOf();
  // of the page's begin, so that a period does not move on while it is read
  const values = useMemo(
    () => valuesOf(report, route.options, asof),
    [report, asof, ...report.parameters.map(({ name }) => route.options[name])],
  );
  const query = makeQuery(ROWS, { name: report.name, values: values });
  // the filter of rows that have their cluster does the same
  const isFiltered = PRESENTATIONS[report.name]?.usual?.includes("cluster") && !route.options.cluster;
  const shown = report.parameters.filter(({ name }) => name !== "cluster" || !isFiltered);
  return (
    <article class="reports">
      <nav aria-label="Reports">
        {groupsOf(reports).map(([title, members]) => (
          <div key={title}>
            <h2>{title}</h2>
            {members.map(({ name, title }) => (
              <a key={name} href={href("reports", name)} aria-current={name === report.name ? "page" : undefined}>
                {title}
              </a>
            ))}
          </div>
        ))}
      </nav>
      <div>
        <header class="title">
          <h1>{report.title}</h1>
          <div class="tools">
            <a href={href("reports")}>All reports</a>
            <CopyQueries queries={[query]} />
          </div>
          <p>{report.summary}</p>
        </header>
        {shown.length > 0 && (
          <form class="parameters" onSubmit={(event) => event.preventDefault()}>
            {shown.map((parameter) => (
              <Parameter key={parameter.name} report={report.name} parameter={parameter} options={route.options} />
            ))}
          </form>
        )}
        <Loading result={useQuery(query)}>
          {({ report: rows }) => (
            <ReportRows
              name={report.name}
              chart={report.chart}
              rows={{ ...naturalOrder(rows as Rows), truncated: rows.truncated }}
              options={route.options}
              tools={<Parquet name={report.name} values={values} has={formats.includes("parquet")} />}
            />
          )}
        </Loading>
      </div>
    </article>
  );
}

interface ParameterProps {
  report: string;
  parameter: Report["parameters"][number];
  options: Record<string, string>;
}

function Parameter({ report, parameter: { name, default: usual, description }, options }: ParameterProps) {
  const isWhole = Object.hasOwn(WHOLE, usual);
  const given = name === "since" ? sinceOf(report, options) : options[name];
  const set = (value: string) => {
    if (name === "since") change({ since: (value || ALL) === sinceOf(report, {}) ? undefined : value || ALL });
    else change({ [name]: value === usual || (!value && isWhole) ? undefined : value });
  };
  return (
    <>
      {name === "since" && (
        <div class="period tabs">
          <span aria-hidden="true">Period</span>
          <Choice
            name="Period"
            options={PERIODS}
            chosen={(options.until ? undefined : given) as keyof typeof PERIODS}
            choose={(since) => change({ since: since === sinceOf(report, {}) ? undefined : since, until: undefined })}
          />
        </div>
      )}
      <label>
        <span>{isWhole ? columnLabel(name) : description}</span>
        <input
          name={name}
          placeholder={WHOLE[usual]}
          title={description}
          value={name === "since" && given === ALL ? "" : (given ?? (isWhole ? "" : usual))}
          onChange={({ currentTarget: { value } }) => set(value)}
        />
      </label>
    </>
  );
}

interface ReportRowsProps {
  name: string;
  chart: Chart | null;
  rows: Rows & { truncated: boolean };
  options: Record<string, string>;
  tools: preact.ComponentChildren;
}

function ReportRows({ name, chart, rows, options, tools }: ReportRowsProps) {
  const { sort = "", where = "", cols = "" } = options;
  const { usual, totals, shares, grouped, lead, note } = PRESENTATIONS[name] ?? {};
  const view = { sort, where, cols: cols || (usual ?? []).join(",") };
  const shown = useVisibleRows(rows, view);
  // an order or a choice of columns is about parts
  const as = sort || cols ? "parts" : oneOf(ROWS_AS, options.rows, "incidents");
  const isByIncident = as === "incidents" && haveIncidents(rows.columns);
  const incidents = useQuery(isByIncident ? INCIDENTS : null);
  const groups = useMemo(
    () => (isByIncident ? groupByIncident(shown, incidents.data?.incidents.edges ?? []) : undefined),
    [isByIncident, shown, incidents.data],
  );
  const isGrouped = Boolean(grouped && !sort && !cols);
  const upAt = shown.columns.indexOf("share_up");
  const disputes = [...disputesOf(shown.columns).values()].map((column) => shown.columns.indexOf(column));
  const isDisputed = shown.rows.some((row) => disputes.some((place) => row[place]));
  const plot = plotOf(chart, shown.columns, shown.rows);
  const isNarrow = useNarrow();
  const now = shownTime(useAsOf().asof);
  const until = Math.min(now, timeOf(options.until ?? "", now) ?? now);
  const lacking = chart && columnsOf(chart).find((column) => !rows.columns.includes(column));
  return (
    <>
      {lacking && (
        <p class="warned">No chart: the report header names {lacking}, which is not a column of the report.</p>
      )}
      {rows.truncated && (
        <p class="warned">
          Showing the first {pluralize(rows.rows.length, "row")}. Get more with{" "}
          <code>trninv report {name} --limit</code>.
        </p>
      )}
      {lead && rows.rows.length > 0 && <p class="quiet">{lead(rows, until)}</p>}
      <DataTable
        name={name}
        usual={usual}
        totals={totals}
        shares={shares}
        grouped={isGrouped}
        few={isGrouped ? shown.rows.filter((row) => row[upAt] !== 1).length || undefined : undefined}
        rest="up all the time"
        all={rows}
        shown={shown}
        view={view}
        tools={
          <>
            {tools}
            {haveIncidents(rows.columns) && (
              <div class="tabs">
                <Choice
                  name="Rows"
                  options={ROWS_AS}
                  chosen={as}
                  choose={(value) =>
                    change({ rows: value === "incidents" ? undefined : value, sort: undefined, cols: undefined })
                  }
                />
              </div>
            )}
          </>
        }
        {...(groups && {
          summary: {
            // as wide while it loads, so that the line wraps at once
            size: `in ${incidents.data ? pluralize(groups.length, "incident") : "… incidents"}`,
            content: <Loading result={incidents}>{() => <ByIncident groups={groups} />}</Loading>,
          },
        })}
      />
      {(note || isDisputed) && (
        <p class="quiet">
          {note} <Measured rows={rows} />
          {isDisputed && (
            <>
              <span class="mark">{DISPUTED}</span> marks numbers on which sources disagree; select it for what they
              state.
            </>
          )}
        </p>
      )}
      {name === "bandwidth" && <LostBandwidth scope={options.cluster || null} />}
      {plot && (
        // the rows answer first, and a phone shows only them
        <details class="card chart" open={!isNarrow}>
          <summary>
            Chart: {axesOf(plot)} by {columnLabel(plot.by)}
          </summary>
          <figure>
            <Plot id="plot" plot={plot} />
            <DownloadSvg name={name} picture={svgOf("plot")} />
          </figure>
        </details>
      )}
    </>
  );
}

/** Since when the numbers are measured, which may be later than the time that was asked for. */
function Measured({ rows: { columns, rows } }: { rows: Rows }) {
  const now = shownTime(useAsOf().asof);
  const place = columns.indexOf("measured_since");
  const times = rows.flatMap((row) => (typeof row[place] === "string" ? [row[place]] : [])).sort();
  const [first, last] = [times[0], times.at(-1)];
  if (!first || !last) return null;
  const [longest, shortest] = [formatDuration(first, now), formatDuration(last, now)];
  return (
    <>
      Measured over the last{" "}
      <time dateTime={first} title={formatDateTime(first)}>
        {longest}
      </time>
      {shortest !== longest && `, of some clusters ${shortest}`}.
    </>
  );
}

interface ParquetProps {
  name: string;
  values: { name: string; value: string }[];
  has: boolean;
}

/** Link to all rows as Parquet, or say what the service lacks for it. */
function Parquet({ name, values, has }: ParquetProps) {
  const [failed, fail] = useState("");
  if (!has)
    return (
      <span class="quiet roomy">
        For Parquet, install the <a href="docs/how-to/deploy.html#extras">extra</a> parquet on the server
      </span>
    );
  const save = () => {
    const parameters = new URLSearchParams(
      values.map((parameter): [string, string] => [parameter.name, parameter.value]),
    );
    fail("");
    download(`reports/${name}.parquet?${parameters}`).then(
      (file) => saveFile(`${name}.parquet`, file, "application/vnd.apache.parquet"),
      (error: Error) => fail(error.message),
    );
  };
  return (
    <>
      <button type="button" class="roomy" title="All rows and columns of the report, with their types" onClick={save}>
        Download Parquet
      </button>
      {failed && (
        <span class="failure" role="alert">
          {failed}
        </span>
      )}
    </>
  );
}
