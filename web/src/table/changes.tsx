// Rows of unhealthy parts, one line per change that made them unhealthy.
import { partsOf } from "../incidents/rows";
import { useAsOf } from "../live";
import { Address, Reason } from "../parts";
import { href } from "../route";
import { type Column, SimpleTable } from "../simpletable";
import { formatDateTime, formatDuration, Glyph, STATES, shownTime } from "../state";
import { number, shortenAddress } from "../words";
import type { Rows } from "./rows";

/** Columns by which rows are parts of changes. */
const NEEDED = ["address", "state", "since", "why", "who", "cause", "kind", "change"];

export const haveChanges = (columns: string[]) => NEEDED.every((name) => columns.includes(name));

interface Part {
  address: string;
  state: string;
  since: string;
  why: string;
  who: string;
  cause: string;
  kind: string;
}

interface Group {
  /** The smallest place that contains its causes; empty: they are in several clusters. */
  place: string;
  /** The worst state of its parts. */
  state: string;
  /** The part that began it, with reason, author and time. */
  first: Part;
  parts: Part[];
}

const levels = (cause: string) => cause.split("--")[0]?.split("/") ?? [];

/** Return the smallest place that contains the causes; a single cause itself. */
function placeOf(causes: string[]): string {
  const [first = "", ...others] = causes;
  if (others.every((cause) => cause === first)) return first;
  const differs = levels(first).findIndex((level, index) => others.some((cause) => levels(cause)[index] !== level));
  return levels(first)
    .slice(0, differs < 0 ? undefined : differs)
    .join("/");
}

/** Group rows by change, the worst state first, and of these the most parts. */
export function groupByChange({ columns, rows }: Rows): Group[] {
  const changes = new Map<string, Part[]>();
  const places = Object.fromEntries(NEEDED.map((name) => [name, columns.indexOf(name)]));
  for (const row of rows) {
    const text = (name: string) => String(row[places[name] ?? -1] ?? "");
    const part = Object.fromEntries(NEEDED.map((name) => [name, text(name)])) as unknown as Part;
    // without a recorded change, each cause is a group of its own
    const key = text("change") || part.cause;
    const parts = changes.get(key);
    if (parts) parts.push(part);
    else changes.set(key, [part]);
  }
  const rank = ({ state }: { state: string }) => (STATES as readonly string[]).indexOf(state);
  const groups = [...changes.values()].map((parts) => {
    const [worst] = [...parts].sort((a, b) => rank(a) - rank(b)) as [Part];
    const first = parts.find(({ address, cause }) => address === cause) ?? worst;
    return { place: placeOf(parts.map(({ cause }) => cause)), state: worst.state, first, parts };
  });
  return groups.sort((a, b) => rank(a) - rank(b) || b.parts.length - a.parts.length);
}

/** Parts by kind and state: 1 server, 16 chips, 16 NICs. */
function describeParts(parts: Part[]): string {
  const counts = new Map<string, { kind: string; state: string; count: number }>();
  for (const { kind, state } of parts) {
    const key = `${kind} ${state}`;
    counts.set(key, { kind: kind.replace(" ", "_"), state, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return partsOf({ parts: [...counts.values()] });
}

const COLUMNS: Column[] = [["Place"], ["Parts"], ["Cause"], ["By", "roomy"], ["For"]];
/** Parts of a change that are listed. */
const MOST = 200;

export function ByChange({ groups }: { groups: Group[] }) {
  const now = shownTime(useAsOf().asof);
  return (
    <div class="card flush by-change">
      <SimpleTable name="Unhealthy parts by change" columns={COLUMNS}>
        {groups.map(({ place, state, first: { address, why, who, since }, parts }) => (
          <tr key={address}>
            <th scope="row">
              <Glyph state={state} />
              <span class="unseen">{state}: </span>
              {place ? (
                <a href={href(place.includes("/") ? "at" : "cluster", place)}>
                  <Address text={shortenAddress(place)} />
                </a>
              ) : (
                "several clusters"
              )}
            </th>
            <td class="parts">
              {parts.length === 1 ? (
                describeParts(parts)
              ) : (
                <details>
                  <summary>{describeParts(parts)}</summary>
                  <ul>
                    {parts.slice(0, MOST).map((part) => (
                      <li key={part.address}>
                        <a href={href("at", part.address)}>{shortenAddress(part.address)}</a>
                      </li>
                    ))}
                    {parts.length > MOST && <li class="quiet">and {number(parts.length - MOST)} more</li>}
                  </ul>
                </details>
              )}
            </td>
            <td class="why">{why ? <Reason text={why} /> : <span class="quiet">no reason given</span>}</td>
            <td class="roomy who">{who}</td>
            <td class="when">
              {since ? (
                <time dateTime={since} title={formatDateTime(since)}>
                  {formatDuration(since, now)}
                </time>
              ) : (
                "unknown"
              )}
            </td>
          </tr>
        ))}
      </SimpleTable>
    </div>
  );
}
