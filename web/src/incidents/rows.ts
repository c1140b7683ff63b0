// Rows of the Incidents page: what is searched, filtered, added up and saved as CSV.
import { nounOf, stateWord } from "../state";
import type { Rows } from "../table/rows";
import { pluralize, shortenAddress } from "../words";
import { type ClosedIncident, type Incident, placeOf, SEVERITIES, type Severity, stateOf } from "./documents";

export interface Filters {
  where: string;
  severity: string;
  state: string;
  cluster: string;
}

/** The order in which kinds are counted in words. */
const KINDS = ["server", "chip", "switch", "network_node", "link", "nic"];

type Parts = Pick<Incident, "parts">;

/** Parts of incidents in words: 1 server, 17 chips, 16 NICs down; 1 link degraded. */
export function describeParts(incidents: Parts[]): string {
  const counts = new Map<string, number>();
  for (const { kind, state, count } of incidents.flatMap(({ parts }) => parts))
    counts.set(`${state} ${kind}`, (counts.get(`${state} ${kind}`) ?? 0) + count);
  return ["down", "degraded", "maintenance"]
    .map((state) => {
      const words = KINDS.flatMap((kind) => {
        const count = counts.get(`${state} ${kind}`);
        return count ? [pluralize(count, nounOf(kind))] : [];
      });
      return words.length ? `${words.join(", ")} ${stateWord(state)}` : "";
    })
    .filter(Boolean)
    .join("; ");
}

/** The parts of one incident, without their state if all have the same. */
export function partsOf({ parts }: Parts): string {
  const states = new Set(parts.map(({ state }) => state));
  const ordered = [...parts].sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  return ordered
    .map(({ kind, state, count }) => pluralize(count, nounOf(kind)) + (states.size > 1 ? ` ${stateWord(state)}` : ""))
    .join(", ");
}

/** Which links the lost bandwidth of an incident is of: a chip or switch has no EFA links, as those are its NICs'. */
export const linksOf = ({ parts }: Parts) =>
  parts.every(({ kind }) => kind === "chip" || kind === "switch")
    ? "NeuronLinks"
    : parts.every(({ kind }) => kind === "link")
      ? "links"
      : "NeuronLinks and EFA links";

const clusterOf = (place: string) => place.split("/")[0] ?? "";

function passes({ where, severity, cluster }: Filters, row: { severity: Severity; place: string; texts: unknown[] }) {
  if (severity && row.severity !== severity) return false;
  if (cluster && clusterOf(row.place) !== cluster) return false;
  const text = row.texts.flat().join("\n").toLowerCase();
  return where
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export const filterOpen = (incidents: Incident[], filters: Filters) =>
  incidents.filter(
    (incident) =>
      (!filters.state || stateOf(incident) === filters.state) &&
      passes(filters, {
        severity: incident.severity,
        place: placeOf(incident),
        texts: [
          placeOf(incident),
          incident.causes,
          incident.why,
          incident.who,
          incident.jobs,
          incident.instances.map(({ instance, host }) => `${instance} ${host}`),
          `#${incident.id}`,
        ],
      }),
  );

export const filterClosed = (incidents: ClosedIncident[], filters: Filters) =>
  incidents.filter((incident) => {
    const { severity, causes, why, who, closedBy, closedWhy, id } = incident;
    const place = placeOf(incident);
    return passes(filters, { severity, place, texts: [place, causes, why, who, closedBy, closedWhy, `#${id}`] });
  });

export const clustersOf = (incidents: { place: string | null; causes: string[] }[]) =>
  [...new Set(incidents.map((incident) => clusterOf(placeOf(incident))))].filter(Boolean).sort();

/** Sums in which each part counts once, as every part and link is in one incident. */
export const totals = (incidents: Incident[]) => ({
  chips: incidents.reduce((sum, { chipsLost }) => sum + chipsLost, 0),
  bandwidth: incidents.reduce((sum, { bandwidthLost }) => sum + bandwidthLost.gigabytesPerSecond, 0),
  jobs: new Set(incidents.flatMap(({ jobs }) => jobs)),
});

export const openCsv = (incidents: Incident[]): Rows => ({
  columns: "id severity place parts cause who since chips_lost gb_per_s_lost jobs".split(" "),
  rows: incidents.map((incident) => [
    incident.id,
    SEVERITIES[incident.severity].toLowerCase(),
    placeOf(incident),
    partsOf(incident),
    incident.why,
    incident.who,
    incident.startedAt,
    incident.chipsLost,
    incident.bandwidthLost.gigabytesPerSecond,
    incident.jobs.join(" "),
  ]),
});

export const closedCsv = (incidents: ClosedIncident[]): Rows => ({
  columns: "id severity place causes cause who since closed_at closed_by closed_why".split(" "),
  rows: incidents.map((incident) => [
    incident.id,
    SEVERITIES[incident.severity].toLowerCase(),
    shortenAddress(placeOf(incident)),
    incident.causeCount,
    incident.why,
    incident.who,
    incident.startedAt,
    incident.closedAt,
    incident.closedBy,
    incident.closedWhy,
  ]),
});
