// Rows of unhealthy parts, one line per open incident, in the order of the Incidents page.
import { type Incident, placeOf, stateOf } from "../incidents/documents";
import { describeParts } from "../incidents/rows";
import { useAsOf } from "../live";
import { Address, BriefReason } from "../parts";
import { href } from "../route";
import { type Column, SimpleTable } from "../simpletable";
import { Glyph, Since, shownTime } from "../state";
import { number, shortenAddress } from "../words";
import type { Rows } from "./rows";

/** Columns by which rows are parts of incidents. */
const NEEDED = ["address", "state", "since", "why", "who", "cause", "kind", "change"];

export const haveIncidents = (columns: string[]) => NEEDED.every((name) => columns.includes(name));

type Part = Record<"address" | "state" | "since" | "why" | "who" | "cause" | "kind" | "change", string>;

type Shown = Pick<Incident, "place" | "causes" | "startedAt" | "who" | "why"> & { id: string | null };

interface Group {
  incident: Shown;
  parts: Part[];
}

/** Rows by incident: that of their cause, else that of the other causes of the same change, which lists the first 100. */
export function groupByIncident({ columns, rows }: Rows, incidents: readonly { node: Incident }[]): Group[] {
  const places = new Map(NEEDED.map((name) => [name, columns.indexOf(name)]));
  const parts = rows.map(
    (row) => Object.fromEntries([...places].map(([name, at]) => [name, String(row[at] ?? "")])) as Part,
  );
  const byCause = new Map(incidents.flatMap(({ node }) => node.causes.map((cause) => [cause, node] as const)));
  const byChange = new Map(
    parts.flatMap(({ cause, change }) => {
      const incident = byCause.get(cause);
      return incident ? [[change, incident] as const] : [];
    }),
  );
  const groups = new Map<string, Group>(incidents.map(({ node }) => [node.id, { incident: node, parts: [] }]));
  for (const part of parts) {
    const { cause, change, since, who, why } = part;
    const incident = byCause.get(cause) ?? byChange.get(change);
    // of more incidents than are listed
    const key = incident?.id ?? cause;
    const group = groups.get(key) ?? {
      incident: { id: null, place: cause, causes: [cause], startedAt: since, who, why },
      parts: [],
    };
    group.parts.push(part);
    groups.set(key, group);
  }
  return [...groups.values()].filter((group) => group.parts.length);
}

/** Parts by kind and state. */
function countsOf(parts: Part[]) {
  const counts = new Map<string, { kind: string; state: string; count: number }>();
  for (const { kind, state } of parts) {
    const key = `${kind} ${state}`;
    counts.set(key, { kind: kind.replace(" ", "_"), state, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return { parts: [...counts.values()] };
}

const COLUMNS: Column[] = [["Incident"], ["Parts"], ["Cause"], ["By"], ["Since, UTC"]];
/** Parts of an incident that are listed. */
const MOST = 200;

export function ByIncident({ groups }: { groups: Group[] }) {
  const now = shownTime(useAsOf().asof);
  return (
    <div class="card flush by-change">
      <SimpleTable name="Unhealthy parts by incident" columns={COLUMNS}>
        {groups.map(({ incident, parts }) => {
          const counts = countsOf(parts);
          const name = incident.place ? <Address text={shortenAddress(incident.place)} /> : "several clusters";
          return (
            <tr key={incident.id ?? incident.place}>
              <th scope="row">
                <Glyph state={stateOf(counts)} />
                <span class="unseen">{stateOf(counts)}: </span>
                {incident.id ? (
                  <a href={href("incidents", "", { sel: incident.id })}>{name}</a>
                ) : (
                  <a href={href("at", placeOf(incident))}>{name}</a>
                )}
              </th>
              <td class="parts">
                {parts.length === 1 ? (
                  describeParts([counts])
                ) : (
                  <details>
                    <summary>{describeParts([counts])}</summary>
                    <ul>
                      {parts.slice(0, MOST).map(({ address }) => (
                        <li key={address}>
                          <a class="address" href={href("at", address)}>
                            {shortenAddress(address)}
                          </a>
                        </li>
                      ))}
                      {parts.length > MOST && <li class="quiet">and {number(parts.length - MOST)} more</li>}
                    </ul>
                  </details>
                )}
              </td>
              <td class="why">
                {incident.why ? <BriefReason text={incident.why} /> : <span class="quiet">no reason given</span>}
              </td>
              <td class="who">{incident.who}</td>
              <td class="when">
                <Since time={incident.startedAt} now={now} />
              </td>
            </tr>
          );
        })}
      </SimpleTable>
    </div>
  );
}
