// Who has which chips: a cluster as its domains, a square a server, with the letters of jobs; or one domain chip by chip.
import { useEffect, useState } from "preact/hooks";
import { jobColors, type Letter, LetterBadge, letterOf } from "../drawing/letter";
import { UNAVAILABLE } from "../fleet/allocations";
import { STATES as CHIP_STATES } from "../fleet/overview";
import { Picture } from "../picture";
import { href } from "../route";
import { Glyph, stateWord } from "../state";
import { number, pluralize } from "../words";
import { type ClusterChips, type DomainUse, domainUse, type ServerUse, type Use } from "./allocated";

const isWithin = (address: string, places: string[]) =>
  places.some((place) => address === place || address.startsWith(`${place}/`));

const domainOf = (address: string) => address.split("/").slice(0, 2).join("/");

/** What the placement form proposes: all places that are equally good, and the chosen one. */
export interface Proposal {
  places: string[];
  equal: string[];
}

interface DomainProps {
  domain: string;
  proposed: string[];
  sel: string;
  /** Called with the letters of the picture's jobs. */
  setLetters: (letters: Map<string, Letter>) => void;
}

/** A domain chip by chip; a proposed placement is ringed. */
export function DomainJobs({ domain, proposed, sel, setLetters }: DomainProps) {
  const [svg, setSvg] = useState<SVGSVGElement>();
  useEffect(() => {
    if (!svg) return;
    const jobs = [...svg.querySelectorAll<SVGElement>(".job")];
    setLetters(new Map(jobs.map(({ dataset }) => [dataset.job ?? "", letterOf(Number(dataset.ordinal))])));
  }, [svg]);
  useEffect(() => {
    for (const chip of svg?.querySelectorAll<SVGElement>("[data-address]") ?? []) {
      chip.classList.toggle("proposed", isWithin(chip.dataset.address ?? "", proposed));
      chip.classList.toggle("chosen", Boolean(sel) && chip.dataset.job === sel);
    }
  }, [svg, proposed, sel]);
  return (
    <div class="inner">
      <h2>
        <a href={href("domain", domain)}>{domain}</a>
      </h2>
      <Picture name="jobs" options={{ scope: domain }} onDrawn={setSvg} />
      {proposed.length > 0 && <p class="quiet">Dashed rings: the proposed placement.</p>}
    </div>
  );
}

/** The most domains that are drawn; of more, those without a job or a failure are only counted. */
const MOST = 160;

interface ClusterProps {
  cluster: ClusterChips;
  letters: Map<string, Letter>;
  proposal: Proposal;
  sel: string;
  /** Whether other clusters are shown too. */
  isNamed: boolean;
}

export function ClusterJobs({ cluster, letters, proposal, sel, isNamed }: ClusterProps) {
  const { overview } = cluster;
  const numbers = Array.from({ length: overview.domains }, (_, domain) => domain);
  const shown = numbers.length > MOST ? busyFirst(cluster, proposal) : numbers;
  const uses = shown.map((domain) => domainUse(cluster, domain));
  const widest = Math.max(1, ...uses.map(({ servers }) => columnsOf(servers.length)));
  return (
    <section class="inner" aria-label={`Jobs in ${overview.cluster}`}>
      {isNamed && (
        <h2>
          <a href={href("cluster", overview.cluster, { color: "job" })}>{overview.cluster}</a>
        </h2>
      )}
      <ul class="domains" style={{ "--wide": `${Math.max(68, 22 * widest)}px` }}>
        {uses.map((use) => (
          <Domain key={use.address} use={use} letters={letters} proposal={proposal} sel={sel} />
        ))}
      </ul>
      {numbers.length > shown.length && (
        <p class="quiet">
          {pluralize(numbers.length - shown.length, "more domain")}, all up and free or not shown.{" "}
          <a href={href("cluster", overview.cluster, { color: "job" })}>Show every chip</a>
        </p>
      )}
    </section>
  );
}

/** The first domains with a job, a reservation, a failure or a proposed place, and then idle ones, in their order. */
function busyFirst(cluster: ClusterChips, { equal }: Proposal): number[] {
  const fits = new Set(equal.map(domainOf));
  const [busy, idle]: [number[], number[]] = [[], []];
  for (let domain = 0; domain < cluster.overview.domains && busy.length < MOST; domain++) {
    const { address, isIdle } = domainUse(cluster, domain);
    (isIdle && !fits.has(address) ? idle : busy).push(domain);
  }
  return [...busy, ...idle.slice(0, MOST - busy.length)].sort((a, b) => a - b);
}

const columnsOf = (servers: number) => Math.ceil(Math.sqrt(servers));

interface DomainUseProps {
  use: DomainUse;
  letters: Map<string, Letter>;
  proposal: Proposal;
  sel: string;
}

function Domain({ use: { address, servers }, letters, proposal, sel }: DomainUseProps) {
  const isHere = proposal.places.some((place) => domainOf(place) === address);
  const fits = isHere || proposal.equal.some((place) => domainOf(place) === address);
  const name = address.split("/")[1];
  return (
    <li class={isHere ? "here" : fits ? "fits" : undefined}>
      <a href={href("domain", address, { show: "jobs" })} aria-label={describe(address, servers, isHere, fits)}>
        <span class="name">
          {name}
          {isHere && <span class="tag">here</span>}
        </span>
        <span class="servers" style={{ "--columns": columnsOf(servers.length) }}>
          {servers.map((server, index) => (
            <Server
              key={index}
              server={server}
              letters={letters}
              sel={sel}
              address={`${address}/s${index}`}
              proposal={proposal}
            />
          ))}
        </span>
      </a>
    </li>
  );
}

function describe(address: string, servers: ServerUse[], isHere: boolean, fits: boolean): string {
  const uses = servers.flatMap((server) => server.uses);
  const jobs = sums(uses.flatMap(({ job, chips }) => (job ? [[job, chips]] : [])));
  const kept = sums(uses.flatMap(({ kind, chips }) => (isKept(kind) ? [[kind, chips]] : [])));
  const states = sums(servers.flatMap((server) => [...server.states]));
  const words = [
    jobs.length ? jobs.map(([job, chips]) => `job ${job} on ${pluralize(chips, "chip")}`).join(", ") : "no job",
    ...[...kept, ...states].map(([word, chips]) => `${pluralize(chips, "chip")} ${stateWord(word)}`),
    ...(isHere ? ["the chosen place"] : fits ? ["a place that fits"] : []),
  ];
  return `${address}: ${words.join(", ")}`;
}

/** Whether chips without a job are kept from jobs though they are up. */
const isKept = (kind: Use["kind"]) => kind === "reserved" || kind === "cordoned";

function sums(counts: [name: string, count: number][]): [name: string, count: number][] {
  const all = new Map<string, number>();
  for (const [name, count] of counts) all.set(name, (all.get(name) ?? 0) + count);
  return [...all];
}

/** Uses of a server that are drawn; of more, only the first ones are. */
const SHARES = 4;
/** The part of a server whose height has room for a letter. */
const LEGIBLE = 1 / 3;
const WORST = ["down", "degraded", "maintenance"] as const;

interface ServerProps {
  server: ServerUse;
  letters: Map<string, Letter>;
  sel: string;
  address: string;
  proposal: Proposal;
}

function Server({ server: { uses, states, chips }, letters, sel, address, proposal }: ServerProps) {
  const state = WORST.find((each) => states.has(each));
  const isIdle = uses.every(({ job, kind }) => !job && !isKept(kind));
  const isWhole = state !== undefined && isIdle && states.get(state) === chips;
  const isChosen = Boolean(sel) && uses.some(({ job }) => job === sel);
  const isProposed =
    isWithin(address, proposal.places) || proposal.places.some((place) => place.startsWith(`${address}/`));
  return (
    <span
      class={[
        "server",
        isWhole && state,
        uses.some(({ kind }) => kind === "cordoned") && "cordoned",
        isChosen && "chosen",
        isProposed && "proposed",
      ]
        .filter(Boolean)
        .join(" ")}
      title={`${address}: ${uses
        .filter(({ kind }) => kind !== "unusable")
        .map((use) => `${use.chips} ${use.job || use.kind}`)
        .concat([...states].map(([name, count]) => `${count} ${stateWord(name)}`))
        .join(", ")}`}
    >
      {!isIdle &&
        uses.slice(0, SHARES).map((use) => {
          const letter = letters.get(use.job);
          return (
            <span
              key={`${use.kind} ${use.job}`}
              class={`share ${use.kind}`}
              style={{ flexGrow: use.chips, ...(letter && jobColors(letter)) }}
            >
              {use.chips >= LEGIBLE * chips && letter?.text}
            </span>
          );
        })}
      {state && (
        <span class={isWhole ? "whole" : "corner"}>
          <Glyph state={state} />
        </span>
      )}
    </span>
  );
}

/** Jobs that the legend names. */
const NAMED = 24;

interface LegendProps {
  clusters: ClusterChips[];
  letters: Map<string, Letter>;
  hasFits: boolean;
}

/** The jobs' letters, and the other looks of the picture's chips. */
export function Legend({ clusters, letters, hasFits }: LegendProps) {
  const all = [...letters];
  const kept = UNAVAILABLE.filter((why, index) =>
    clusters.some(({ allocations }) => why && allocations.unavailable.includes(index)),
  );
  const states = WORST.filter((state) =>
    clusters.some(({ overview }) => overview.states.includes(CHIP_STATES.indexOf(state))),
  );
  return (
    <p class="inner legend">
      {all.slice(0, NAMED).map(([job, letter]) => (
        <a key={job} href={href("jobs", "", { ...options(), sel: job })} aria-label={`Job ${job}`}>
          <LetterBadge letter={letter} /> {job}
        </a>
      ))}
      {all.length > NAMED && <span>{number(all.length - NAMED)} more jobs</span>}
      <span>
        <span class="key free" /> free
      </span>
      {kept.map((why) => (
        <span key={why}>
          <span class={`key ${why}`} /> {why}
        </span>
      ))}
      {states.map((state) => (
        <span key={state}>
          <Glyph state={state} /> {stateWord(state)}
        </span>
      ))}
      {hasFits && (
        <span>
          <span class="key fits" /> place that fits
        </span>
      )}
    </p>
  );
}

/** The options of the open page, which links to a job keep. */
export const options = () => Object.fromEntries(new URLSearchParams(location.hash.split("?")[1] ?? ""));
