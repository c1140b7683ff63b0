// What the palette offers for a text: places, times, jobs, reports, reasons, actions and docs pages, the best group first.
import docs from "virtual:docs";
import { describeEvent } from "../events";
import { placeOf, stateOf } from "../incidents/documents";
import { change, href, type Route } from "../route";
import type { IconName } from "../shell/icons";
import { formatDateTime, formatDuration } from "../state";
import { pluralize, relativeTo, shortenAddress } from "../words";
import { type Action, type Errand, hitActions, hrefOf, namedActions, runErrand } from "./actions";
import type { Catalog, Hit, Incident, Reason } from "./documents";
import { bestScore, score } from "./match";
import { timeOf } from "./times";

export interface Option {
  group: string;
  name: string;
  description: string;
  icon: IconName | undefined;
  state: string;
  does: Action["does"];
  /** How well it matches, from 0 to 1; a group stands where its best option would. */
  rank: number;
}

/** What the service answered to a text. */
export interface Answer {
  text: string;
  hits: Hit[];
  /** The closed incident of the number that the text is. */
  closed: Incident[];
}

interface Context {
  typed: string;
  here: string;
  route: Route;
  may: boolean;
  catalog: Catalog | undefined;
  /** Changes with the text in their reasons. */
  reasons: Reason[];
  errand: Errand | undefined;
}

/** The most options of a group. */
const MOST = 5;
const NOUNS: Record<string, string> = { nic: "NIC", network_node: "network node" };
/** The shortest text for which all open incidents are listed. */
const SHORTEST = 4;
/** Ranks of what the service finds, which is exact; the place that is open comes first. */
const [HERE, ELSEWHERE] = [0.98, 0.97];

export function optionsOf(answer: Answer, context: Context): Option[] {
  const { typed, errand } = context;
  const isCurrent = answer.text === typed;
  const places = placeOptions(answer.hits, context);
  if (errand) return places;
  const incidents = [
    ...incidentOptions(context),
    ...answer.closed.map((each) => incidentOption("Closed incidents", each, 1)),
  ];
  const isIncident = (change: Option) => incidents.some((incident) => reasonOf(incident) === reasonOf(change));
  const offered = unique([
    ...timeOptions(typed),
    ...places,
    ...reasonOptions(context).filter((change) => !isIncident(change)),
    ...catalogOptions(context),
    ...incidents,
    ...actionOptions(isCurrent ? answer.hits[0] : undefined, context),
    ...docsOptions(typed),
  ]);
  return byGroup(offered);
}

/** A place and the reason of its incident or change. */
const reasonOf = ({ name, description }: Option) => `${name} ${description.split(" · ")[0]}`;

/** One option for each destination, and one action. */
function unique(options: Option[]): Option[] {
  const seen = new Set<string>();
  return options.filter(({ group, does }) => {
    const key = `${group === "Actions"} ${does}`;
    return typeof does !== "string" || (!seen.has(key) && seen.add(key));
  });
}

function byGroup(options: Option[]): Option[] {
  const best = new Map<string, number>();
  for (const { group, rank } of options) best.set(group, Math.max(rank, best.get(group) ?? 0));
  return [...options].sort((a, b) => (a.group === b.group ? 0 : (best.get(b.group) ?? 0) - (best.get(a.group) ?? 0)));
}

const option = (group: string, name: string, more: Partial<Option> & Pick<Option, "does" | "rank">): Option => ({
  group,
  name,
  description: "",
  icon: undefined,
  state: "up",
  ...more,
});

function placeOptions(hits: Hit[], { here, route, errand }: Context): Option[] {
  const place = here.split("--")[0]?.split("/").slice(0, 2).join("/") ?? "";
  const isHere = ({ address }: Hit) =>
    Boolean(place && address && (address === place || address.startsWith(`${place}/`)));
  return [...hits.filter(isHere), ...hits.filter((hit) => !isHere(hit))].flatMap((hit) => {
    const does = errand ? runErrand(errand, hit) : hrefOf(hit, route);
    if (!does || hit.kind === "report") return []; // reports are matched here
    const name = isHere(hit) && hit.name === hit.address ? relativeTo(place, hit.name) : hit.name;
    return option(isHere(hit) ? `In ${place}` : place ? "Elsewhere" : "Results", name, {
      description: [NOUNS[hit.kind] ?? hit.kind, hit.address !== hit.name && hit.address].filter(Boolean).join(" · "),
      icon: hit.kind === "job" ? "jobs" : hit.address === null ? "reports" : undefined,
      state: (hit.target && "state" in hit.target && hit.target.state) || "up",
      does,
      rank: isHere(hit) ? HERE : ELSEWHERE,
    });
  });
}

function timeOptions(typed: string): Option[] {
  const event = /^event\s+(\d{1,15})$/i.exec(typed)?.[1];
  const time = timeOf(typed);
  const asof = event ?? (time === undefined ? undefined : new Date(time).toISOString().replace(".000", ""));
  if (asof === undefined) return [];
  const name = event ? `As of event ${event}` : `As of ${formatDateTime(time ?? 0)}`;
  return [
    option("Time", name, {
      description: "this page at that time",
      icon: "time",
      does: () => change({ asof }),
      rank: 1,
    }),
  ];
}

interface Candidate {
  texts: string[];
  option: (rank: number) => Option;
}

const lengthOf = ({ texts: [name = ""] }: Candidate) => name.length;

/** The best candidates for a text; of equally good ones the shorter, of which the text is more. */
function best(typed: string, candidates: Candidate[], most = MOST): Option[] {
  if (!typed) return [];
  return candidates
    .map((candidate) => ({ candidate, rank: bestScore(typed, candidate.texts) }))
    .filter(({ rank }) => rank > 0)
    .sort((a, b) => b.rank - a.rank || lengthOf(a.candidate) - lengthOf(b.candidate))
    .slice(0, most)
    .map(({ candidate, rank }) => candidate.option(rank));
}

function catalogOptions({ typed, catalog }: Context): Option[] {
  if (!catalog) return [];
  const clusters = catalog.clusters.nodes.map(
    ({ slug, system }): Candidate => ({
      texts: [slug],
      option: (rank) =>
        option("Clusters", slug, { description: system, icon: "fleet", does: href("cluster", slug), rank }),
    }),
  );
  const jobs = catalog.jobs.nodes.map(
    ({ name, cluster, chips }): Candidate => ({
      texts: [name, `job ${name}`],
      option: (rank) =>
        option("Jobs", name, {
          description: `${pluralize(chips, "chip")} in ${cluster}`,
          icon: "jobs",
          does: href("jobs", "", { sel: name }),
          rank,
        }),
    }),
  );
  const reports = catalog.reports.map(
    ({ name, title, summary }): Candidate => ({
      texts: [title, name, `report ${title}`],
      option: (rank) =>
        option("Reports", title, { description: summary, icon: "reports", does: href("reports", name), rank }),
    }),
  );
  return [clusters, jobs, reports].flatMap((candidates) => best(typed, candidates));
}

/** The number of an incident that a text is: 76, incident 76. */
export const incidentNumber = (typed: string) => /^(?:incident\s+)?(\d{1,15})$/i.exec(typed)?.[1];

const WHAT_IS_DOWN = "what is down, open incidents";

/** Open incidents by their reasons; by their places they come after the places themselves. */
function incidentOptions({ typed, catalog }: Context): Option[] {
  const isGeneral = typed.length >= SHORTEST && score(typed, WHAT_IS_DOWN) > 0;
  const number = incidentNumber(typed);
  return (catalog?.incidents.nodes ?? [])
    .map((incident) => {
      const byPlace = score(typed, `${placeOf(incident)} ${incident.why} ${incident.who}`);
      const isMeant = isGeneral || incident.id === number;
      return { incident, rank: isMeant ? 1 : 0.95 * Math.max(score(typed, incident.why ?? ""), 0.9 * byPlace) };
    })
    .filter(({ rank }) => rank > 0)
    .sort((a, b) => b.rank - a.rank)
    .slice(0, MOST)
    .map(({ incident, rank }) => incidentOption("Open incidents", incident, rank));
}

function incidentOption(group: string, incident: Incident, rank: number): Option {
  const { id, why, startedAt, closedAt } = incident;
  const duration = startedAt && formatDuration(startedAt, closedAt ? Date.parse(closedAt) : undefined);
  return option(group, shortenAddress(placeOf(incident)), {
    description: [why ?? "no reason given", duration].filter(Boolean).join(" · "),
    state: closedAt ? "up" : stateOf(incident),
    does: href("incidents", "", { sel: id }),
    rank,
  });
}

/** Changes by their reasons, after the open incidents. */
const reasonOptions = ({ typed, reasons }: Context): Option[] =>
  [...reasons].reverse().map((event) =>
    option("Changes", shortenAddress(event.address), {
      description: `${event.why} · ${describeEvent(event)}, ${formatDuration(event.at)} ago`,
      state: event.after ?? "up",
      does: href("at", event.address),
      rank: 0.8 * score(typed, event.why),
    }),
  );

function actionOptions(first: Hit | undefined, { typed, route, may }: Context): Option[] {
  const named = namedActions(typed, route, may);
  const forHit: [Action, number][] = first ? hitActions(first, route, may).map((action) => [action, 0]) : [];
  const isRepeated = (action: Action) => forHit.some(([other]) => other.name === action.name);
  return [...(typed ? named.slice(0, MOST) : named).filter(([action]) => !isRepeated(action)), ...forHit].map(
    ([{ name, icon, does, description = "" }, rank]) => option("Actions", name, { description, icon, does, rank }),
  );
}

function docsOptions(typed: string): Option[] {
  const candidate = (name: string, texts: string[], path: string, anchor: string, weight: number): Candidate => ({
    texts,
    option: (rank) =>
      option("Docs", name, {
        description: path,
        icon: "sources",
        does: `docs/${path && `${path}.html`}${anchor}`,
        rank: weight * rank,
      }),
  });
  const ofPages = docs.map(([title, path]) => candidate(title, [title, `docs ${title}`, path], path, "", 0.9));
  const ofSections = docs.flatMap(([, path, sections]) =>
    sections.map(([heading, anchor]) => candidate(heading, [heading], path, `#${anchor}`, 0.7)),
  );
  const ofCommands = docs.flatMap(([, path, sections]) =>
    sections.map(([heading, anchor, commands]) => candidate(heading, [commands], path, `#${anchor}`, 0.6)),
  );
  const pages = unique([ofPages, ofSections, ofCommands].flatMap((each) => best(typed, each))).slice(0, MOST);
  if (!/^\p{L}[\p{L}\s-]+$/u.test(typed)) return pages;
  const search = { icon: "search" as const, does: `docs/?q=${encodeURIComponent(typed)}`, rank: 0 };
  return [...pages, option("Docs", `Search the docs for ${typed}`, search)];
}
