// Placements for the next job: the request, the candidates by rank, why there are none, and which jobs to move.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type ApiError, makeQuery, runQuery, useLoaded } from "../api";
import { useCanWrite } from "../change/proposal";
import { useNarrow } from "../domain/wiring";
import { addressOf, STATES } from "../fleet/overview";
import type { Cause } from "../fleet/spots";
import { lazyView } from "../lazy";
import { Loading } from "../parts";
import { change } from "../route";
import { stateWord, WARNING } from "../state";
import { gigabytes, pluralize, relativeTo } from "../words";
import { propose, toAllocate } from "./actions";
import { linkMarks } from "./affected";
import { type ClusterChips, domainUse, lettersIn, mixedIn, SEVERAL_MODELS } from "./allocated";
import {
  amounts,
  bytes,
  type JobSize,
  KINDS,
  type Kind,
  PLACEMENTS,
  type Placement,
  type PlacementsAnswer,
  parseSize,
} from "./documents";
import { type Group, groupPlacements, isConnected, merge } from "./groups";
import { useInView } from "./inview";
import { Domains, type Proposal } from "./map";

export const ChooseDomain = lazyView(async () => (await import("./choose")).ChooseDomain);
const MakeRoom = lazyView(async () => (await import("./plans")).MakeRoom);

const warning = (placement: Placement) =>
  isConnected(placement)
    ? placement.degraded
      ? "One of its chips or links is degraded."
      : undefined
    : "These chips are not connected to each other.";

/** Arrow keys move the focus between placements; the focused one is outlined. */
function step(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>("button")];
  const next = all.indexOf(document.activeElement as HTMLElement) + by;
  all[Math.max(0, Math.min(all.length - 1, next))]?.focus();
}

interface Props {
  /** A place, or several clusters. */
  scopes: string[];
  options: Record<string, string>;
  /** The places of the selected placement. */
  show: (proposal: Proposal) => void;
  /** The chips of the clusters, and what is unhealthy in them. */
  chips: ClusterChips[];
  causes: Cause[];
  /** Whether the jobs and the chips are known. */
  isListed: boolean;
}

const NOTHING: Proposal = { places: [] };

export function Placements({ scopes, options, show, chips, causes, isListed }: Props) {
  const want = parseSize(options.fit);
  const anyBlock = options.any === "yes";
  const fits = useLoaded(want && `fits ${scopes} ${options.fit} ${anyBlock}`, async (signal) => {
    const size = want as JobSize;
    const results = await Promise.allSettled(
      scopes.map(async (scope) => {
        const query = makeQuery(PLACEMENTS, { scope, ...amounts(size), memory: bytes(size), anyBlock });
        return (await runQuery(query, signal)).placements;
      }),
    );
    // a size that one system does not have may fit another
    const answers = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const refusals = results.flatMap((result, at) =>
      result.status === "rejected" ? [{ scope: scopes[at] ?? "", error: result.reason as ApiError }] : [],
    );
    const [first, ...rest] = refusals.map(({ error }) => error);
    const isAlike = rest.every(({ message }) => message === first?.message);
    if (first && !answers.length && isAlike && first.code !== SEVERAL_MODELS) throw first;
    return { answers, refusals };
  });
  const mixed = fits.data?.refusals.flatMap(({ scope, error }) => mixedIn(chips, [scope], error)) ?? [];
  // on a phone it is below the list and the maps
  const box = useInView(Boolean(isListed && (fits.data || fits.error)), `${options.fit} ${anyBlock}`);
  return (
    <section class="card flush" aria-labelledby="fits" ref={box}>
      <h2 id="fits">Place a job {scopes.length === 1 && <span class="quiet">in {scopes[0]}</span>}</h2>
      <Form want={want} any={anyBlock} />
      {options.fit && !want && (
        <p class="inner failure">
          {options.fit.slice(0, 60)} is not a valid size. Use chips:8, memory:768GiB or shape:2x4x1.
        </p>
      )}
      {want && (
        <div class="found">
          {/* which place is preselected depends on the chips */}
          <Loading result={isListed ? fits : { ...fits, data: undefined, error: undefined, loading: true }}>
            {({ answers, refusals }) => (
              <>
                <Found key={options.fit} {...{ answers, scopes, want, show, chips, causes }} />
                {refusals
                  .filter(({ scope }) => !mixed.some(({ cluster }) => cluster === scope))
                  .map(({ scope, error: { message } }) => (
                    <p key={scope} class="inner quiet">
                      {scope} was not searched: {message}.
                    </p>
                  ))}
              </>
            )}
          </Loading>
          {isListed && mixed.length > 0 && (
            <div class="inner">
              <ChooseDomain clusters={mixed} options={{ fit: options.fit, any: options.any }} />
            </div>
          )}
        </div>
      )}
    </section>
  );
}

interface FoundProps {
  answers: PlacementsAnswer[];
  scopes: string[];
  want: JobSize;
  show: Props["show"];
  chips: ClusterChips[];
  causes: Cause[];
}

function Found({ answers, scopes, want, show, chips, causes }: FoundProps) {
  const scope = scopes.length === 1 ? (scopes[0] ?? "") : "";
  const [first] = answers;
  if (!first) return null;
  if (answers.some(({ placements }) => placements.length))
    return <PlacementList answers={answers} scope={scope} show={show} clusters={chips} causes={causes} />;
  return (
    <>
      <NoPlacement answer={first} isOnly={answers.length === 1} />
      {want.kind !== "memory" && <MakeRoom scope={first.scope} want={want} />}
    </>
  );
}

function Form({ want, any }: { want: JobSize | null; any: boolean }) {
  const form = useRef<HTMLFormElement>(null);
  const find = (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(form.current as HTMLFormElement);
    const [kind, text] = [String(data.get("kind")) as Kind, String(data.get("size")).trim().replaceAll("×", "x")];
    change({ fit: `${kind}:${text}${kind === "memory" ? "GiB" : ""}`, any: data.get("any") ? "yes" : undefined });
  };
  return (
    <form ref={form} class="inner fit" onSubmit={find} key={`${want?.kind} ${want?.text}`}>
      <label>
        <span class="unseen">Unit</span>
        <select name="kind" defaultValue={want?.kind ?? "chips"}>
          {Object.entries(KINDS).map(([kind, name]) => (
            <option key={kind} value={kind} selected={kind === (want?.kind ?? "chips")}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="unseen">Amount</span>
        <input
          name="size"
          defaultValue={want?.text ?? "8"}
          required
          pattern="[0-9x×]+"
          title="A number such as 8, or a shape such as 2x4x1"
        />
      </label>
      <button type="submit" class="main">
        Find
      </button>
      <label class="toggle">
        <input type="checkbox" name="any" defaultChecked={any} /> any block, including shapes that schedulers do not
        offer
      </label>
    </form>
  );
}

/** The reservations that may be in the way of a job. */
export function Reserved({ reservations }: { reservations: string[] }) {
  return (
    <>
      {reservations.map((reservation) => (
        <p key={reservation}>Reserved: {reservation}</p>
      ))}
    </>
  );
}

function NoPlacement({ answer, isOnly }: { answer: PlacementsAnswer; isOnly: boolean }) {
  return (
    <div class="inner">
      <p>
        <strong>No placement:</strong>{" "}
        {isOnly ? answer.reason : `in none of the clusters; ${answer.scope}: ${answer.reason}`}.
      </p>
      <Reserved reservations={answer.reservations} />
      {answer.suggestedShape && <p>{answer.suggestedShape}</p>}
      <table>
        <tbody>
          {answer.filterSteps.map(({ condition, domains }) => (
            <tr key={condition}>
              <th scope="row">{condition}</th>
              <td class="number">{pluralize(domains, "domain")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface ListProps {
  answers: PlacementsAnswer[];
  /** The only place that was searched, or none. */
  scope: string;
  show: Props["show"];
  clusters: ClusterChips[];
  causes: Cause[];
}

function PlacementList({ answers, scope, show, clusters, causes }: ListProps) {
  const unhealthy = useMemo(() => unhealthyDomains(clusters, causes), [clusters, causes]);
  const groups = useMemo(
    () => recommended(groupPlacements(merge(answers.map(({ placements }) => placements))), unhealthy),
    [answers, unhealthy],
  );
  const places = groups.flatMap(({ placements }) => placements);
  const may = useCanWrite();
  const [choice, look] = useState(0);
  const picked = places[Math.min(choice, places.length - 1)] as Placement;
  useEffect(() => show({ places: picked.places }), [picked]);
  useEffect(() => () => show(NOTHING), []);
  const sum = (name: "positions" | "free") => answers.reduce((total, answer) => total + answer[name], 0);
  const chips = answers[0]?.chips ?? picked.chips;
  const name = shortPlaces(scope, picked.places);
  const listed = places.length;
  const fitting = Math.max(sum("positions"), listed);
  const facts = groups.map((group) => factsOf(group.placements, unhealthy));
  const common = facts[0]?.filter((fact) => facts.every((other) => other.includes(fact))) ?? [];
  // places of one kind are headed by what they are
  const shared = groups.length > 1 ? common : [];
  return (
    <>
      <p class="inner quiet sum">
        {answers.length > 1 ? pluralize(chips, "chip") : answers[0]?.request}: {pluralize(fitting, "place")} among{" "}
        {pluralize(sum("free"), "free chip")}, the best first.
        {shared.length > 0 && ` ${listed < fitting ? "Those listed" : "All"}: ${shared.join(", ")}.`}
      </p>
      {useNarrow() && <Place clusters={clusters} causes={causes} places={picked.places} />}
      <ol class="fits" onKeyDown={step}>
        {groups.map(({ placements }, index) => (
          <EqualPlaces
            key={placements[0]?.places.join(" ")}
            placements={placements}
            facts={facts[index]?.filter((fact) => !shared.includes(fact)) ?? []}
            scope={scope}
            unhealthy={unhealthy}
            picked={picked}
            pick={(placement) => look(places.indexOf(placement))}
          />
        ))}
      </ol>
      <div class="inner act">
        {may && (
          <button
            type="button"
            class="main"
            data-writes
            aria-haspopup="dialog"
            onClick={() =>
              propose(
                toAllocate(scope || (picked.places[0]?.split("/")[0] ?? ""), picked.places, chips, warning(picked)),
              )
            }
          >
            Allocate {pluralize(chips, "chip")} in {name.length > NAME ? `${name.slice(0, NAME)}…` : name}…
          </button>
        )}
        <span class="quiet">
          {may ? (
            "You see a preview first."
          ) : (
            <>
              To allocate it: <code>trninv allocate NAME {picked.places.join(" ")}</code>
            </>
          )}
        </span>
      </div>
    </>
  );
}

/** The domains of a place that are drawn. */
const DRAWN = 4;

/** The domains of a place, where the map is out of view. */
function Place({ clusters, causes, places }: { clusters: ClusterChips[]; causes: Cause[]; places: string[] }) {
  const letters = useMemo(() => lettersIn(clusters), [clusters]);
  const domains = [...new Set(places.map(domainOf))].slice(0, DRAWN);
  return (
    <div class="inner drawn">
      {clusters.map((cluster) => (
        <Domains
          key={cluster.overview.cluster}
          uses={domains
            .filter((domain) => domain.startsWith(`${cluster.overview.cluster}/`))
            .map((domain) => domainUse(cluster, Number(/\/d(\d+)$/.exec(domain)?.[1])))}
          letters={letters}
          marks={linkMarks(cluster.overview, causes)}
          proposal={{ places }}
          sel=""
        />
      ))}
    </div>
  );
}

/** Characters of a place that the button has. */
const NAME = 18;
/** Places of a group that are shown until all are asked for. */
const FEW = 9;

interface EqualPlacesProps {
  placements: Placement[];
  /** What they have, unlike those of other groups. */
  facts: string[];
  scope: string;
  /** What is unhealthy in a domain, by its address. */
  unhealthy: Map<string, string>;
  picked: Placement;
  pick: (placement: Placement) => void;
}

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const domainOf = (address: string) => address.split("/").slice(0, 2).join("/");

const isAsFast = (placement: Placement, other: Placement | undefined) =>
  placement.allGather.gigabytesPerSecond === other?.allGather.gigabytesPerSecond &&
  placement.bisection.gigabytesPerSecond === other.bisection.gigabytesPerSecond;

/** Put places first that are as fast as the best one, and in domains that no repair disturbs, if there are any. */
function recommended(groups: Group[], unhealthy: Map<string, string>): Group[] {
  const best = groups[0]?.placements[0];
  const isClean = (each: Placement) => isAsFast(each, best) && !each.degraded && !unhealthyBeside(each, unhealthy);
  const split = groups.map(({ placements, ...group }) => ({
    clean: { ...group, placements: placements.filter(isClean) },
    other: { ...group, placements: placements.filter((each) => !isClean(each)) },
  }));
  return [...split.map(({ clean }) => clean), ...split.map(({ other }) => other)].filter(
    ({ placements }) => placements.length,
  );
}

/** What is unhealthy in the domains of a placement. */
const unhealthyBeside = ({ places }: Placement, unhealthy: Map<string, string>) =>
  places.map((place) => unhealthy.get(domainOf(place))).find(Boolean);

/** Unhealthy chips, links, switches and NICs of domains, in words. */
function unhealthyDomains(clusters: ClusterChips[], causes: Cause[]): Map<string, string> {
  const domains = new Map<string, Map<string, number>>();
  for (const { overview } of clusters)
    overview.states.forEach((code, chip) => {
      if (!code) return;
      const domain = domainOf(addressOf(overview, chip));
      const counts = domains.get(domain) ?? new Map<string, number>();
      const state = STATES[code] ?? "down";
      domains.set(domain, counts.set(state, (counts.get(state) ?? 0) + 1));
    });
  const words = new Map(
    [...domains].map(([domain, counts]) => [
      domain,
      new Set([...counts].map(([state, count]) => `${pluralize(count, "chip")} ${stateWord(state)}`)),
    ]),
  );
  for (const { overview } of clusters)
    for (const [place, effect] of linkMarks(overview, causes))
      words.set(domainOf(place), (words.get(domainOf(place)) ?? new Set()).add(`a ${effect.words}`));
  return new Map([...words].map(([domain, parts]) => [domain, [...parts].join(", ")]));
}

/** What placements that are equally good have, the most important first. */
function factsOf(placements: Placement[], unhealthy: Map<string, string>): string[] {
  const [first] = placements;
  if (!first) return [];
  const isBeside = placements.some((each) => unhealthyBeside(each, unhealthy));
  return [
    isConnected(first) ? `all-gather ${gigabytes(first.allGather)}` : "not connected",
    isConnected(first) && `bisection ${gigabytes(first.bisection)}`,
    first.remainingFree ? `leaves ${pluralize(first.remainingFree, "chip")} of the domain free` : "fills its domain",
    first.degraded && "degraded",
    isBeside ? "beside unhealthy parts" : "nothing unhealthy beside",
    pluralize(first.servers.length, "server"),
    first.shape?.replaceAll("x", " × "),
  ].filter((fact) => typeof fact === "string");
}

/** Placements that are equally good, as one group with a button each. */
function EqualPlaces(props: EqualPlacesProps) {
  const { placements, facts, scope, unhealthy, picked, pick } = props;
  const [isWhole, setWhole] = useState(false);
  const [first] = placements;
  if (!first) return null;
  const few = placements.slice(0, FEW);
  const shown = isWhole
    ? placements
    : !placements.includes(picked) || few.includes(picked)
      ? few
      : [...few.slice(1), picked];
  const count = placements.length;
  const isPicked = placements.includes(picked);
  const warned = isPicked ? picked : (placements.find((each) => unhealthyBeside(each, unhealthy)) ?? first);
  const beside = unhealthyBeside(warned, unhealthy);
  return (
    <li class={isPicked ? "picked" : undefined}>
      <p class="head">
        <strong>{capitalize(facts[0] ?? "")}</strong>
      </p>
      {facts.length > 1 && <p class="quiet">{facts.slice(1).join(", ")}</p>}
      <div class="choices">
        {shown.map((placement) => (
          <button
            key={placement.places.join(" ")}
            type="button"
            class="small"
            aria-pressed={placement === picked}
            onClick={() => pick(placement)}
            onFocus={() => pick(placement)}
          >
            {shortPlaces(scope, placement.places)}
            <DomainWarning words={unhealthyBeside(placement, unhealthy)} />
          </button>
        ))}
        {count > shown.length && (
          <button type="button" class="plain more" onClick={() => setWhole(true)}>
            More places
          </button>
        )}
      </div>
      {beside && (
        <p class="note">
          <Sign /> {domainOf(warned.places[0] ?? "")} has {beside}; a repair may disturb the job.
        </p>
      )}
    </li>
  );
}

const Sign = () => (
  <svg class="glyph warning" viewBox="0 0 16 16" aria-hidden="true">
    {WARNING}
  </svg>
);

/** Says that a place is in a domain with unhealthy chips. */
const DomainWarning = ({ words }: { words: string | undefined }) =>
  words ? (
    <span title={`In its domain: ${words}`}>
      {" "}
      <Sign />
      <span class="unseen"> ({words} in its domain)</span>
    </span>
  ) : null;

/** Group chips by server: s0 · c0, c1. */
export function shortPlaces(scope: string, places: string[]): string {
  const servers = new Map<string, string[]>();
  for (const place of places.map((address) => relativeTo(scope, address))) {
    const [, server = place, chip] = /^(.*?)\/?(c\d+)$/.exec(place) ?? [];
    servers.set(server, [...(servers.get(server) ?? []), ...(chip ? [chip] : [])]);
  }
  return [...joinServers([...servers])]
    .map(([server, chips]) => [server, chipRanges(chips)].filter(Boolean).join(" · "))
    .join(" + ");
}

/** Join whole servers with consecutive numbers: d2/s18–s33. */
function* joinServers(servers: [string, string[]][]): Generator<[string, string[]]> {
  const parse = (server: string) => /^(.*?s)(\d+)$/.exec(server);
  for (let index = 0; index < servers.length; index++) {
    const [first, chips] = servers[index] as [string, string[]];
    const [, prefix, start] = parse(first) ?? [];
    let last = index;
    const isNext = ([server, others]: [string, string[]] = ["", []]) => {
      const [, other, count] = parse(server) ?? [];
      return !others.length && other === prefix && Number(count) === Number(start) + last + 1 - index;
    };
    if (prefix && !chips.length) while (isNext(servers[last + 1])) last++;
    yield last === index ? [first, chips] : [`${first}–s${Number(start) + last - index}`, []];
    index = last;
  }
}

/** Shorten c0, c1, c2, c3, c6 to c0–c3, c6. */
function chipRanges(chips: string[]): string {
  const numbers = chips.map((chip) => Number(chip.slice(1))).sort((a, b) => a - b);
  const ranges: [number, number][] = [];
  for (const chip of numbers) {
    const last = ranges.at(-1);
    if (last && chip === last[1] + 1) last[1] = chip;
    else ranges.push([chip, chip]);
  }
  return ranges.map(([first, last]) => (first === last ? `c${first}` : `c${first}–c${last}`)).join(", ");
}
