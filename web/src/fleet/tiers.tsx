// The tiers of the fabric above the domains, with over-subscription and the jobs that cross.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useNarrow } from "../domain/wiring";
import { LetterBadge, letterOf } from "../drawing/letter";
import { Picture } from "../picture";
import { href } from "../route";
import { type Column, SimpleTable } from "../simpletable";
import { number, pluralize } from "../words";
import "../style/fabric.css";
import { JobKey } from "./jobkey";

/** Bandwidths are in bytes per second of one direction (trninv/drawing/fabric_summary.py). */
interface Tier {
  tier: number;
  nodes: number;
  unhealthy: number;
  below: number;
  belowDesigned: number;
  upward: number | null;
  upwardDesigned: number | null;
  worst: { name: string; ratio: number | null } | null;
}

interface NamedJob {
  name: string;
  address: string;
  ordinal: number;
}

interface CrossingJob extends NamedJob {
  chips: number;
  nodes: { name: string; bandwidth: number; uplink: number }[];
}

interface Summary {
  tiers: Tier[];
  /** Of the jobs that do not cross, the largest ones. */
  jobs: { all: number; crossing: CrossingJob[]; inside: NamedJob[] };
  /** Whether the picture has the letters of jobs. */
  hasLetters: boolean;
}

const GB = 1e9;
/** Jobs that are listed. */
const MOST = 12;
/** From this ratio on a tier carries less upward than what comes from below. */
const OVER = 1.005;

const read = (svg: SVGSVGElement): Summary => ({
  tiers: JSON.parse(svg.dataset.tiers ?? "[]"),
  jobs: JSON.parse(svg.dataset.jobs ?? '{"all":0,"crossing":[],"inside":[]}'),
  hasLetters: svg.dataset.letters !== undefined,
});

interface Props {
  cluster: string;
  causes: ComponentChildren;
  table: ComponentChildren;
}

export function Fabric({ cluster, causes, table }: Props) {
  const [summary, setSummary] = useState<Summary>();
  const isNarrow = useNarrow();
  const [drawn] = useState(() => (svg: SVGSVGElement) => setSummary(read(svg)));
  return (
    <div class="columns fabric">
      <div>
        <section class="card" aria-label="Fabric tiers">
          {summary && isNarrow && <Answer {...summary} />}
          <Picture name="fabric" options={{ scope: cluster }} onDrawn={drawn} />
        </section>
        {summary && table}
      </div>
      <aside class="side" aria-label="Over-subscription, jobs and unhealthy parts">
        {summary && summary.tiers.length > 0 && (
          <>
            <Tiers tiers={summary.tiers} />
            <Crossing {...summary.jobs} lowest={summary.tiers[0]?.tier ?? 1} />
          </>
        )}
        {summary && causes}
      </aside>
    </div>
  );
}

/** On a phone, above the picture: what follows from it, and the names of its jobs. */
function Answer({ tiers, jobs, hasLetters }: Summary) {
  const { steps, over, reduced } = stepsOf(tiers);
  const { all, crossing, inside } = jobs;
  const named = useMemo(() => [...crossing, ...inside], [jobs]);
  return (
    <>
      <p class="answer">
        {steps.length > 0 && (over.length ? <OverSubscribed over={over} /> : <strong>Non-blocking.</strong>)} Jobs that
        cross: {number(crossing.length)} of {number(all)}.{" "}
        <span class="quiet">
          <Reduced steps={reduced.slice(0, 1)} />
        </span>
      </p>
      {hasLetters && <JobKey jobs={named} all={all} />}
    </>
  );
}

type Step = Tier & { upward: number; upwardDesigned: number };

/** The tiers with uplinks, those of them that are over-subscribed, and those with less below than designed. */
function stepsOf(tiers: Tier[]) {
  const steps = tiers.filter((tier): tier is Step => tier.upward !== null);
  const over = steps.filter(({ worst }) => worst && (worst.ratio === null || worst.ratio > OVER));
  return { steps, over, reduced: steps.filter(({ below, belowDesigned }) => below < belowDesigned) };
}

const Reduced = ({ steps }: { steps: Step[] }) => (
  <>
    {steps.map(({ tier, below, belowDesigned }, index) => (
      <span key={tier}>
        {index > 0 && " "}
        {number(Math.round((belowDesigned - below) / GB))} of {number(Math.round(belowDesigned / GB))} GB/s below
        tier&nbsp;{tier} are down.
      </span>
    ))}
  </>
);

const OverSubscribed = ({ over }: { over: Step[] }) => (
  <>
    {over.map(({ tier, worst }, index) => (
      <span key={tier} class="warned">
        {index > 0 && " "}
        {worst?.name}{" "}
        {worst?.ratio === null ? "carries nothing upward." : `is over-subscribed ${ratio(worst?.ratio ?? 1)}.`}
      </span>
    ))}
  </>
);

const ratioOf = (below: number, upward: number) => below / Math.max(upward, 1);
const ratio = (value: number) => `${number(Math.round(100 * value) / 100)} : 1`;

function Tiers({ tiers }: { tiers: Tier[] }) {
  const { steps, over, reduced } = stepsOf(tiers);
  const changed = steps.some(
    ({ below, upward, belowDesigned, upwardDesigned }) =>
      ratio(Math.max(1, ratioOf(below, upward))) !== ratio(Math.max(1, ratioOf(belowDesigned, upwardDesigned))),
  );
  const columns: Column[] = [["Step"], ["From below", "number"], ["Upward", "number"], ["Ratio", "number"]];
  if (changed) columns.push(["Designed", "number"]);
  return (
    <section class="card flush" aria-label="Over-subscription">
      <h2>
        Over-subscription <span class="quiet">GB/s one direction</span>
      </h2>
      <SimpleTable name="Over-subscription by tier" columns={columns}>
        {steps.map(({ tier, below, belowDesigned, upward, upwardDesigned }) => (
          <tr key={tier}>
            <th scope="row">
              Tier {tier} to {tier - 1}
            </th>
            <td class="number">{number(Math.round(below / GB))}</td>
            <td class="number">{number(Math.round(upward / GB))}</td>
            <td class="number">
              <strong class={ratioOf(below, upward) > OVER ? "warned" : undefined}>
                {upward ? ratio(ratioOf(below, upward)) : "none"}
              </strong>
            </td>
            {changed && <td class="number">{ratio(ratioOf(belowDesigned, upwardDesigned))}</td>}
          </tr>
        ))}
      </SimpleTable>
      <p class="inner quiet">
        {!steps.length && "There is one tier."}
        {steps.length > 0 && !over.length && "Non-blocking: every node carries upward what comes from below."}{" "}
        <Reduced steps={reduced} /> <OverSubscribed over={over} />
      </p>
    </section>
  );
}

const share = (part: number, whole: number) => `${number(Number(((100 * part) / whole).toPrecision(2)))} %`;

/** A job below many nodes: 63 nodes, at most 100 % of an uplink. */
function describeMany({ nodes }: CrossingJob): string {
  const largest = Math.max(...nodes.map(({ bandwidth, uplink }) => bandwidth / Math.max(uplink, bandwidth)));
  return `${pluralize(nodes.length, "node")}, at most ${share(largest, 1)} of an uplink`;
}

function Crossing({ all, crossing, inside: named, lowest }: Summary["jobs"] & { lowest: number }) {
  const inside = all - crossing.length;
  return (
    <section class="card flush" aria-label="Jobs that cross">
      <h2>
        Jobs that cross{" "}
        <span class="quiet">
          {number(crossing.length)} of {number(all)}
        </span>
      </h2>
      {crossing.length > 0 && (
        <ul class="rows tight">
          {crossing.slice(0, MOST).map((job) => (
            <li key={job.address}>
              <a class="crossing" href={href("jobs", "", { sel: job.address })}>
                <LetterBadge letter={letterOf(job.ordinal)} />
                <span>
                  <strong>{job.name}</strong>
                  {job.nodes.length > 4 && <span class="quiet">{describeMany(job)}</span>}
                  {(job.nodes.length > 4 ? [] : job.nodes).map(({ name, bandwidth, uplink }) => (
                    <span class="quiet" key={name}>
                      {name}: {number(Math.round(bandwidth / GB))} GB/s
                      {uplink > 0 && `, ${share(bandwidth, uplink)} of uplink`}
                    </span>
                  ))}
                </span>
                <span class="quiet">{pluralize(job.chips, "chip")}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
      <p class="inner quiet">
        {inside === 0 && !crossing.length
          ? "No job runs here."
          : `${pluralize(inside, "job")} ${inside === 1 ? "stays" : "stay"} below one node of tier ${lowest}.`}
        {crossing.length > MOST && ` ${pluralize(crossing.length - MOST, "smaller job")} cross too.`}
      </p>
      {named.length > 0 && (
        <p class="inner legend">
          {named.map(({ name, address, ordinal }) => (
            <a key={address} href={href("jobs", "", { sel: address })}>
              <LetterBadge letter={letterOf(ordinal)} /> {name}
            </a>
          ))}
        </p>
      )}
    </section>
  );
}
