// Closed incidents, put together from the events of parts that failed and came up again.
import type { IncidentEvent, Severity } from "./documents";

export interface ClosedIncident {
  /** The number of the change that made its parts unhealthy, which was the incident's id. */
  id: string;
  severity: Severity;
  place: string;
  causes: string[];
  why: string;
  who: string;
  startedAt: string;
  closedAt: string;
  closedBy: string;
  closedWhy: string;
}

/** A cause that failed, and its recovery, if it has recovered. */
interface Failure {
  failed: IncidentEvent;
  recovered?: IncidentEvent;
}

const severityOf = (failures: Failure[]): Severity => {
  const states = failures.map(({ failed }) => failed);
  if (states.some(({ after, kind }) => after === "down" && kind !== "nic" && kind !== "link")) return "high";
  return states.some(({ after }) => after !== "maintenance") ? "medium" : "info";
};

/** The smallest place of which all addresses are a part, in words of their common steps. */
export function commonPlace([first = "", ...rest]: string[]): string {
  if (!rest.length) return first;
  const steps = first.split("--")[0]?.split("/") ?? [];
  const isCommon = (count: number) =>
    rest.every((address) => `${address}/`.startsWith(`${steps.slice(0, count).join("/")}/`));
  let count = steps.length - 1;
  while (count > 0 && !isCommon(count)) count--;
  return steps.slice(0, count).join("/");
}

/**
 * Pair failures with recoveries; what is still open is left out. Events are in the order of their numbers.
 * An incident closes with the last recovery of the parts that failed in one change.
 */
export function closedIncidents(events: IncidentEvent[]): ClosedIncident[] {
  const open = new Map<string, Failure>();
  const groups = new Map<number, Failure[]>();
  for (const event of events) {
    const failure = open.get(event.address);
    if (event.after === "up") {
      if (failure) failure.recovered = event;
      open.delete(event.address);
    } else if (!failure && event.before === "up") {
      const next = { failed: event };
      const batch = event.batch ?? event.event;
      open.set(event.address, next);
      groups.set(batch, [...(groups.get(batch) ?? []), next]);
    }
  }
  const closed: ClosedIncident[] = [];
  for (const [id, failures] of groups) {
    const recoveries = failures.flatMap(({ recovered }) => recovered ?? []);
    const last = recoveries.reduce<IncidentEvent | undefined>((a, b) => (a && a.event > b.event ? a : b), undefined);
    const first = failures[0]?.failed;
    if (!first || !last || recoveries.length < failures.length) continue;
    const causes = failures.map(({ failed }) => failed.address);
    closed.push({
      id: String(id),
      severity: severityOf(failures),
      place: commonPlace(causes),
      causes,
      why: first.why,
      who: first.who,
      startedAt: first.at,
      closedAt: last.at,
      closedBy: last.who,
      closedWhy: last.why,
    });
  }
  return closed.sort((a, b) => Date.parse(b.closedAt) - Date.parse(a.closedAt) || Number(b.id) - Number(a.id));
}
