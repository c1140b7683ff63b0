// Who has which chips: a cluster as its domains, a square a server, with the letters of jobs; or one domain chip by chip.
import { useEffect, useMemo, useState } from "preact/hooks";
import { useNarrow } from "../domain/wiring";
import { jobColors, type Letter, LetterBadge } from "../drawing/letter";
import { UNAVAILABLE } from "../fleet/allocations";
import { STATES as CHIP_STATES } from "../fleet/overview";
import { type Cause, chipsIn, stateOf } from "../fleet/spots";
import { tally } from "../health";
import { Picture } from "../picture";
import { href } from "../route";
import { Counts, Glyph, stateWord } from "../state";
import { number, pluralize } from "../words";
import { type Effect, linkMarks, type Mark } from "./affected";
import { type ClusterChips, clusterUse, type DomainUse, domainUse, type ServerUse, type Use } from "./allocated";

const isWithin = (address: string, places: string[]) =>
  places.some((place) => address === place || address.startsWith(`${place}/`));

const domainOf = (address: string) => address.split("/").slice(0, 2).join("/");

/** The place that is chosen in the placement form. */
export interface Proposal {
  places: string[];
}

interface DomainProps {
  domain: string;
  proposed: string[];
  sel: string;
  onDrawn: () => void;
}

/** A domain chip by chip; a proposed placement is ringed. */
export function DomainJobs({ domain, proposed, sel, onDrawn }: DomainProps) {
  const [svg, setSvg] = useState<SVGSVGElement>();
  useEffect(() => {
    if (svg) onDrawn();
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

/** The most domains that are drawn, large and small; of more, those without a job or a failure are only counted. */
const [MOST, MOST_SMALL] = [160, 1000];
/** If there are more single servers than this, only the first of each row has its name. */
const FEW = 24;

interface ClusterProps {
  cluster: ClusterChips;
  causes: Cause[];
  letters: Map<string, Letter>;
  proposal: Proposal;
  sel: string;
  /** Whether other clusters are shown too. */
  isNamed: boolean;
}

export function ClusterJobs({ cluster, causes, letters, proposal, sel, isNamed }: ClusterProps) {
  const { overview, allocations } = cluster;
  const use = useMemo(() => clusterUse(cluster), [cluster]);
  const marks = useMemo(() => linkMarks(overview, causes), [overview, causes]);
  const isSmall = overview.domains > FEW && overview.parts.every(({ servers }) => servers === 1);
  const most = isSmall ? MOST_SMALL : MOST;
  const isEmpty = isNamed && !use.allocated && !use.reserved && !use.cordoned && !use.states.size;
  const hasFits = proposal.places.some((place) => place.startsWith(`${overview.cluster}/`));
  const numbers = Array.from({ length: overview.domains }, (_, domain) => domain);
  const shown = isEmpty && !hasFits ? [] : numbers.length > most ? busyFirst(cluster, proposal, marks, most) : numbers;
  const uses = shown.map((domain) => domainUse(cluster, domain));
  const looks = { letters, marks, proposal, sel };
  return (
    <section class="inner" aria-label={`Jobs in ${overview.cluster}`}>
      {isNamed && (
        <h2>
          <a href={href("cluster", overview.cluster, { color: "job" })}>{overview.cluster}</a>{" "}
          <span class="quiet">
            {isEmpty
              ? `no job, all ${number(overview.chips)} chips free`
              : !use.allocated
                ? `no job, ${pluralize(overview.chips, "chip")}`
                : `${pluralize(allocations.jobs.length, "job")}, ${number(use.allocated)} of ${pluralize(overview.chips, "chip")} allocated`}
          </span>
          <Counts
            counts={[
              ...[...use.states].map(([state, count]) => ({ kind: "chip", state, count })),
              ...tally(
                causes
                  .filter((cause) => !chipsIn(cause) && isIn(overview.cluster, cause))
                  .flatMap(({ parts }) => parts),
              ),
            ]}
          />
        </h2>
      )}
      {isSmall ? (
        <ul class="domains small">
          {uses.map((domain) => (
            <li key={domain.address} data-name={nameOf(domain.address)}>
              <Domain use={domain} {...looks} />
            </li>
          ))}
        </ul>
      ) : (
        <Domains uses={uses} {...looks} />
      )}
      {shown.length > 0 && numbers.length > shown.length && (
        <p class="quiet">
          {pluralize(numbers.length - shown.length, "more domain")}, all up and free or not shown.{" "}
          <a href={href("cluster", overview.cluster, { color: "job" })}>Show every chip</a>
        </p>
      )}
    </section>
  );
}

const nameOf = (address = "") => address.split("/")[1];

const isIn = (cluster: string, { causes }: Cause) => causes.some((address) => address.startsWith(`${cluster}/`));

/** The first domains with a job, a reservation, a failure or a proposed place, and then idle ones, in their order. */
function busyFirst(cluster: ClusterChips, { places }: Proposal, marks: Map<string, Effect>, most: number): number[] {
  const fits = new Set([...places, ...marks.keys()].map(domainOf));
  const [busy, idle]: [number[], number[]] = [[], []];
  for (let domain = 0; domain < cluster.overview.domains && busy.length < most; domain++) {
    const { address, isIdle } = domainUse(cluster, domain);
    (isIdle && !fits.has(address) ? idle : busy).push(domain);
  }
  return [...busy, ...idle.slice(0, most - busy.length)].sort((a, b) => a - b);
}

/** The least pixels of a domain's servers, and those of a character of a job's name over them. */
const [NARROWEST, CHARACTER] = [72, 6.2];

const columnsOf = (servers: number) => Math.ceil(Math.sqrt(servers));

type DomainsProps = Omit<DomainUseProps, "use" | "isNamed" | "longest"> & { uses: DomainUse[] };

/** Domains of servers, with their names. */
export function Domains({ uses, ...looks }: DomainsProps) {
  const widest = Math.max(1, ...uses.map(({ servers }) => columnsOf(servers.length)));
  const wide = Math.max(NARROWEST, 22 * widest);
  const isNarrow = useNarrow();
  return (
    <ul class="domains" style={{ "--wide": `${wide}px` }}>
      {uses.map((domain) => (
        <li key={domain.address}>
          <Domain use={domain} {...looks} isNamed longest={isNarrow ? 0 : Math.floor(wide / CHARACTER)} />
        </li>
      ))}
    </ul>
  );
}

interface DomainUseProps {
  use: DomainUse;
  letters: Map<string, Letter>;
  /** Unhealthy links, switches and NICs by servers and domains. */
  marks: Map<string, Mark>;
  proposal: Proposal;
  sel: string;
  isNamed?: boolean;
  /** The most characters of the name of a job that has room over the domain. */
  longest?: number;
}

function Domain(props: DomainUseProps) {
  const { letters, marks, proposal, sel, isNamed, longest = 0 } = props;
  const { address, servers } = props.use;
  const own = marks.get(address);
  const only = servers.length > 1 && !isCovering(own, servers.length) ? onlyJob(servers) : "";
  const letter = only.length <= longest ? letters.get(only) : undefined;
  const isHere = proposal.places.some((place) => domainOf(place) === address);
  return (
    <a
      class={isHere ? "here" : undefined}
      href={href("domain", address, { show: "jobs" })}
      aria-label={describe(address, servers, marks, isHere)}
    >
      {isNamed && (
        <span class="name">
          {nameOf(address)}
          {own && !own.between && (
            <span title={own.words}>
              <Glyph state={own.state} />
            </span>
          )}
          {isHere && <span class="tag">here</span>}
        </span>
      )}
      <span
        class={letter ? "servers has-name" : "servers"}
        style={{ "--columns": columnsOf(servers.length), ...(letter && jobColors(letter)) }}
      >
        {servers.map((server, index) => (
          <Server
            key={index}
            server={server}
            letters={letters}
            mark={marks.get(`${address}/s${index}`)}
            sel={sel}
            address={`${address}/s${index}`}
            proposal={proposal}
          />
        ))}
        {letter && <span class="job-name">{only}</span>}
        {own?.between && (
          <span class="between" title={own.words} style={middleOf(own.between, servers.length)}>
            <Glyph state={own.state} />
          </span>
        )}
      </span>
    </a>
  );
}

/** The job that has all chips of a domain; empty: none. */
function onlyJob(servers: ServerUse[]): string {
  const jobs = new Set(servers.flatMap(({ uses }) => uses.map(({ job }) => job)));
  return jobs.size === 1 ? ([...jobs][0] ?? "") : "";
}

/** Whether the mark of a link is at half the height of a domain, where the name of a job would be. */
const isCovering = (mark: Mark | undefined, servers: number) =>
  Boolean(mark?.between) && middleOf(mark?.between as [number, number], servers).top === "50%";

/** The middle between two servers of a domain. */
function middleOf([a, b]: [number, number], servers: number) {
  const columns = columnsOf(servers);
  const middle = (x: number, y: number, all: number) => `${(50 * (x + y + 1)) / all}%`;
  const row = (server: number) => Math.floor(server / columns);
  return {
    left: middle(a % columns, b % columns, columns),
    top: middle(row(a), row(b), Math.ceil(servers / columns)),
  };
}

function describe(address: string, servers: ServerUse[], marks: Map<string, Mark>, isHere: boolean): string {
  const uses = servers.flatMap((server) => server.uses);
  const jobs = sums(uses.flatMap(({ job, chips }) => (job ? [[job, chips]] : [])));
  const kept = sums(uses.flatMap(({ kind, chips }) => (isKept(kind) ? [[kind, chips]] : [])));
  const states = sums(servers.flatMap((server) => [...server.states]));
  const links = new Set(
    [address, ...servers.map((_, index) => `${address}/s${index}`)].map((at) => marks.get(at)?.words),
  );
  const words = [
    jobs.length ? jobs.map(([job, chips]) => `job ${job} on ${pluralize(chips, "chip")}`).join(", ") : "no job",
    ...[...kept, ...states].map(([word, chips]) => `${pluralize(chips, "chip")} ${stateWord(word)}`),
    ...[...links].filter((link) => link !== undefined),
    ...(isHere ? ["the chosen place"] : []),
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
  /** An unhealthy link, switch or NIC of the server. */
  mark: Effect | undefined;
  sel: string;
  address: string;
  proposal: Proposal;
}

function Server({ server: { uses, states, chips }, letters, mark, sel, address, proposal }: ServerProps) {
  const worst = WORST.find((each) => states.has(each));
  const state = worst ?? mark?.state;
  const isIdle = uses.every(({ job, kind }) => !job && !isKept(kind));
  const isWhole = worst !== undefined && isIdle && states.get(worst) === chips;
  const isChosen = Boolean(sel) && uses.some(({ job }) => job === sel);
  const isProposed = isWithin(address, proposal.places);
  const proposed = proposal.places.flatMap((place) => (place.startsWith(`${address}/c`) ? [chipNumber(place)] : []));
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
        .concat(mark ? [mark.words] : [])
        .join(", ")}`}
    >
      {!isIdle &&
        uses.slice(0, SHARES).map((use) => {
          const letter = letters.get(use.job);
          return (
            <span
              key={`${use.kind} ${use.job}`}
              class={letter ? `share ${use.kind} lettered` : `share ${use.kind}`}
              style={{ flexGrow: use.chips, ...(letter && jobColors(letter)) }}
            >
              {use.chips >= LEGIBLE * chips && letter?.text}
            </span>
          );
        })}
      {blocksOf(proposed, chips).map((style) => (
        <span key={Object.values(style).join()} class="proposed" style={style} />
      ))}
      {state && (
        <span class={`${isWhole ? "whole" : "corner"} ${state}`}>
          <Glyph state={state} />
        </span>
      )}
    </span>
  );
}

const chipNumber = (address: string) => Number(/\d+$/.exec(address)?.[0]);

/** Where some of a server's chips are in its square: one block if they fill one, else a block each. */
function blocksOf(numbers: number[], chips: number): Record<"left" | "top" | "width" | "height", string>[] {
  const wide = columnsOf(chips);
  const high = Math.ceil(chips / wide);
  const cells = numbers.map((chip) => [chip % wide, Math.floor(chip / wide)] as const);
  if (!cells.length) return [];
  const [xs, ys] = [cells.map(([x]) => x), cells.map(([, y]) => y)];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [across, down] = [Math.max(...xs) - left + 1, Math.max(...ys) - top + 1];
  const percent = (part: number, whole: number) => `${(100 * part) / whole}%`;
  const block = (x: number, y: number, w: number, h: number) => ({
    left: percent(x, wide),
    top: percent(y, high),
    width: percent(w, wide),
    height: percent(h, high),
  });
  return across * down === cells.length ? [block(left, top, across, down)] : cells.map(([x, y]) => block(x, y, 1, 1));
}

interface LegendProps {
  clusters: ClusterChips[];
  causes: Cause[];
  letters: Map<string, Letter>;
  proposal: Proposal;
}

/** The looks of the picture's chips; of letters and names of jobs, the style shows what the picture has. */
export function Legend({ clusters, causes, letters, proposal }: LegendProps) {
  const [letter] = letters.values();
  const drawn = new Set(clusters.map(({ overview }) => overview.cluster));
  const linkStates = causes
    .filter((cause) => !chipsIn(cause) && [...drawn].some((cluster) => isIn(cluster, cause)))
    .map(stateOf);
  const kept = UNAVAILABLE.filter((why, index) =>
    clusters.some(({ allocations }) => why && allocations.unavailable.includes(index)),
  );
  const states = WORST.filter(
    (state) =>
      linkStates.includes(state) ||
      clusters.some(({ overview }) => overview.states.includes(CHIP_STATES.indexOf(state))),
  );
  return (
    <p class="inner legend">
      {letter && (
        <>
          <span class="by-letter">
            <LetterBadge letter={letter} /> the job with this letter in the list; A is the oldest
          </span>
          <span class="by-name">
            <span class="key job" style={jobColors(letter)} /> a domain with the name of its job
          </span>
        </>
      )}
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
      {proposal.places.length > 0 && (
        <span>
          <span class="key here" /> the chosen place
        </span>
      )}
    </p>
  );
}
