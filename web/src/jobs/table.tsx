// The table of jobs, and the card of the selected job.
import { useMemo } from "preact/hooks";
import type { Result } from "../api";
import { useCanWrite } from "../change/proposal";
import { useNarrow } from "../domain/wiring";
import type { Letter } from "../drawing/letter";
import { useAsOf } from "../live";
import { href } from "../route";
import { formatDuration, StateLabel, shownTime } from "../state";
import { ALL_UP, type Cell, type Rows } from "../table/rows";
import { DataTable, useVisibleRows } from "../table/table";
import { number, pluralize } from "../words";
import { propose, toRelease } from "./actions";
import type { Effect } from "./affected";
import type { JOBS } from "./documents";

type JobList = Result<typeof JOBS>["jobs"];
export type Job = JobList["nodes"][number];

/** A job as other commands name it: its name if trninv allocated it, else SYSTEM:ID. */
export const nameOf = ({ name, system, externalId }: Job) => (system === "trninv" ? name : `${system}:${externalId}`);

const labelOf = (job: Job) => job.name || nameOf(job);

/** Jobs that are shown before the maps until all are asked for, or some are. */
const FEW = 10;

/** Places that a row names; of more, only the first one. */
const NAMED = 2;

/** Where a job runs: its domains and servers, or the first of them and how many more there are. */
function whereOf(job: Job, places: Map<string, string[]>): string {
  const all = places.get(nameOf(job)) ?? [];
  if (!all.length) return job.firstServer ?? job.cluster;
  return all.length <= NAMED ? all.join(", ") : `${all[0]} and ${number(all.length - 1)} more`;
}

type Read = (job: Job, places: Map<string, string[]>, effects: Map<string, Effect>) => Cell;

const COLUMNS: [string, Read][] = [
  ["job", labelOf],
  ["chips", (job) => job.chips],
  ["health", (job, _, effects) => effects.get(nameOf(job))?.words ?? ALL_UP],
  ["where", whereOf],
  ["who", (job) => job.who],
  ["started", (job) => job.startedAt],
];
/** Columns that appear only if they distinguish jobs. */
const RARE: [string, (job: Job) => Cell][] = [
  ["pinned", (job) => (job.pinned ? "yes" : null)],
  ["system", (job) => (job.system === "trninv" ? null : job.system)],
];

/** Pixels of a window that has no room for who allocated each job. */
const CLOSE = 1400;

interface Props {
  jobs: JobList;
  effects: Map<string, Effect>;
  sel: string;
  /** Letters by the names that chips of the map show. */
  letters: Map<string, Letter>;
  /** Domains and servers by the names of jobs. */
  places: Map<string, string[]>;
  options: Record<string, string>;
  /** The cluster of all of them, which their places leave out; empty: of several clusters. */
  cluster: string;
}

export function JobTable({ jobs: { totalCount, nodes }, effects, sel, letters, places, options, cluster }: Props) {
  const { sort = "", where = "", cols = "" } = options;
  const all: Rows = useMemo(() => {
    const columns = [...COLUMNS, ...RARE.filter(([, read]) => nodes.some((job) => read(job)))];
    const isAffected = (job: Job) => Number(effects.has(nameOf(job)));
    const worstFirst = [...nodes].sort(
      (a, b) => b.failedChips - a.failedChips || isAffected(b) - isAffected(a) || b.chips - a.chips,
    );
    return {
      columns: columns.map(([name]) => name),
      rows: worstFirst.map((job) => columns.map(([, read]) => read(job, places, effects))),
    };
  }, [nodes, places, effects]);
  const [lettered, incidents] = useMemo(() => {
    const [byName, behind] = [new Map<string, Letter>(), new Map<string, string>()];
    for (const job of nodes) {
      const twins = nodes.filter((other) => labelOf(other) === labelOf(job));
      if (twins.length > 1) continue;
      const [letter, incident] = [letters.get(nameOf(job)), effects.get(nameOf(job))?.incident];
      if (letter) byName.set(labelOf(job), letter);
      if (incident) behind.set(labelOf(job), incident);
    }
    return [byName, behind];
  }, [nodes, letters, effects]);
  const isClose = useNarrow(CLOSE);
  const usual = all.columns.filter((column) => !isClose || column !== "who");
  const view = { sort, where, cols: cols || usual.join(",") };
  const shown = useVisibleRows(all, view);
  const chosen = (row: Cell[]) => Boolean(sel) && row.includes(sel);
  const isShort = !where && shown.rows.length > FEW + 2 && !shown.rows.slice(FEW).some(chosen);
  if (!nodes.length)
    return (
      <section class="card">
        <p>No chips are allocated.</p>
        <p class="quiet">
          Allocate some with <code>trninv allocate NAME PLACE…</code>, or read them from a scheduler with{" "}
          <code>trninv import</code>.
        </p>
      </section>
    );
  return (
    <>
      <DataTable
        name="jobs"
        all={all}
        shown={shown}
        view={view}
        letters={lettered}
        incidents={incidents}
        usual={usual}
        within={cluster}
        jobHref={(job) => href("jobs", "", { ...options, sel: job === sel ? undefined : job })}
        chosen={chosen}
        few={isShort ? FEW : undefined}
        stacked
      />
      {totalCount > nodes.length && <p class="quiet">{pluralize(totalCount - nodes.length, "more job")}</p>}
    </>
  );
}

/** The selected job, and the button that ends it. */
export function SelectedJob({ job, effect }: { job: Job; effect: Effect | undefined }) {
  const { asof } = useAsOf();
  const may = useCanWrite();
  const name = nameOf(job);
  return (
    <section class="card chosen-job" aria-label={`Job ${name}`}>
      <h2>{name}</h2>
      <p>
        {pluralize(job.chips, "chip")} on {pluralize(job.servers, "server")} in{" "}
        <a href={href("cluster", job.cluster, { color: "job" })}>{job.cluster}</a>, for{" "}
        {formatDuration(job.startedAt, shownTime(asof))}, by {job.who}
        {job.pinned && "; pinned, so plans do not move it"}
      </p>
      <p>
        <StateLabel state={effect?.state ?? "up"}>
          {effect?.incident ? (
            <a href={href("incidents", "", { sel: effect.incident })}>{effect.words}</a>
          ) : (
            (effect?.words ?? "no unhealthy parts")
          )}
        </StateLabel>
      </p>
      {may && job.system === "trninv" && (
        <button type="button" data-writes aria-haspopup="dialog" onClick={() => propose(toRelease(name, job.chips))}>
          Release…
        </button>
      )}
    </section>
  );
}
