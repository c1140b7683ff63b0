// The table of incidents, open or closed, with its tabs, search, filters and CSV.
import { useRef } from "preact/hooks";
import { useAsOf } from "../live";
import { Address, BriefReason, Choice } from "../parts";
import { change, href } from "../route";
import { useKey } from "../shortcuts";
import { type Column, Row, SimpleTable } from "../simpletable";
import { formatDuration, Glyph, ShortTime, Since, shownTime } from "../state";
import { number, pluralize, shortenAddress } from "../words";
import { type ClosedIncident, type Incident, isNumber, placeOf, SEVERITIES, type Severity, stateOf } from "./documents";
import { type Filters, partsOf, totals } from "./rows";

const STATES = { down: "down", degraded: "degraded", maintenance: "in maintenance" };

interface ToolsProps {
  shows: "open" | "closed";
  counts: Record<"open" | "closed", string>;
  filters: Filters;
  clusters: string[];
}

export function ListTools({ shows, counts, filters, clusters }: ToolsProps) {
  const field = useRef<HTMLInputElement>(null);
  useKey("f", () => field.current?.focus());
  return (
    <div class="list-tools tabs">
      <Choice
        name="Show"
        options={{ open: `Open ${counts.open}`, closed: `Closed ${counts.closed}` }}
        chosen={shows}
        choose={(value) => change({ show: value === "closed" ? "closed" : undefined, sel: undefined })}
      />
      <input
        ref={field}
        type="search"
        aria-label="Search"
        aria-keyshortcuts="F"
        placeholder="Search"
        value={filters.where}
        onChange={(event) => change({ where: event.currentTarget.value.trim() || undefined })}
      />
      <Filter name="Severity" option="severity" values={SEVERITIES} chosen={filters.severity} />
      {shows === "open" && <Filter name="State" option="state" values={STATES} chosen={filters.state} />}
      <Filter
        name="Cluster"
        option="cluster"
        values={Object.fromEntries(clusters.map((cluster) => [cluster, cluster]))}
        chosen={filters.cluster}
      />
    </div>
  );
}

interface FilterProps {
  name: string;
  option: keyof Filters;
  values: Record<string, string>;
  chosen: string;
}

function Filter({ name, option, values, chosen }: FilterProps) {
  return (
    <select
      aria-label={name}
      value={chosen}
      onChange={(event) => change({ [option]: event.currentTarget.value || undefined })}
    >
      <option value="">{name}</option>
      {chosen && !Object.hasOwn(values, chosen) && <option value={chosen}>{chosen}</option>}
      {Object.entries(values).map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}

export const SeverityBadge = ({ severity, isPast }: { severity: Severity; isPast?: boolean }) => (
  <span class={`severity ${severity}${isPast ? " past" : ""}`}>{SEVERITIES[severity]}</span>
);

/** Why several causes are one incident. */
const RULES: Record<string, string> = { rack: "in one rack within five minutes", change: "set in one change" };

interface NameProps {
  id: string;
  place: string;
  state: string;
  isChosen: boolean;
  children?: preact.ComponentChildren;
}

function Name({ id, place, state, isChosen, children }: NameProps) {
  return (
    <th scope="row">
      <Glyph state={state} />
      <span>
        <a
          class="cause"
          href={href("incidents", "", { ...options(), sel: isChosen ? undefined : id })}
          aria-current={isChosen ? "true" : undefined}
        >
          <span class="unseen">{state}: </span>
          <span>
            <Address text={shortenAddress(place)} />
          </span>
        </a>
        {children && <span class="quiet">{children}</span>}
      </span>
    </th>
  );
}

const Id = ({ id }: { id: string }) => <td class="id">{isNumber(id) && id}</td>;

/** The reason on one line, in full on hover and in the panel. */
const Why = ({ why }: { why: string | null }) => (
  <td class="why" title={why ?? undefined}>
    {why ? <BriefReason text={why} /> : <span class="quiet">no reason given</span>}
  </td>
);

/** The options of the open page, which a link of its list keeps. */
const options = () => Object.fromEntries(new URLSearchParams(location.hash.split("?")[1] ?? ""));

const OPEN: Column[] = [
  ["ID"],
  ["Severity"],
  ["Place"],
  ["Cause"],
  ["By", "roomy wider"],
  ["Since, UTC"],
  ["Chips lost", "number"],
  ["GB/s lost", "number"],
  ["Jobs hit"],
];
/** Jobs that a row names. */
const NAMED = 1;

interface OpenTableProps {
  incidents: Incident[];
  sel: string;
}

export function OpenTable({ incidents, sel }: OpenTableProps) {
  const now = shownTime(useAsOf().asof);
  const sum = totals(incidents);
  return (
    <SimpleTable name="Incidents" columns={OPEN} isPick>
      {incidents.map((incident) => (
        <Row
          key={incident.id}
          content={JSON.stringify([incident.parts, incident.why])}
          isSelected={incident.id === sel}
        >
          <Id id={incident.id} />
          <td class="level">
            <SeverityBadge severity={incident.severity} />
          </td>
          <Name id={incident.id} place={placeOf(incident)} state={stateOf(incident)} isChosen={incident.id === sel}>
            {incident.causeCount > 1 && (
              <span title={`${pluralize(incident.causeCount, "cause")} ${RULES[incident.rule]}`}>
                {partsOf(incident)}
              </span>
            )}
          </Name>
          <Why why={incident.why} />
          <td class="roomy wider">{incident.who}</td>
          <td class="when" data-word="since">
            <Since time={incident.startedAt} now={now} />
          </td>
          <td class="number" data-unit={incident.chipsLost === 1 ? "chip lost" : "chips lost"}>
            <strong class={incident.chipsLost ? undefined : "none"}>{number(incident.chipsLost)}</strong>
          </td>
          <td class="number" data-unit="GB/s lost">
            {number(Math.round(incident.bandwidthLost.gigabytesPerSecond))}
          </td>
          <td class="jobs-hit">
            {incident.jobs.slice(0, NAMED).map((job) => (
              <a key={job} href={href("jobs", "", { sel: job })}>
                {job}
              </a>
            ))}
            {incident.jobCount > NAMED && <span class="quiet">{` and ${number(incident.jobCount - NAMED)}`}</span>}
            {!incident.jobCount && <span class="quiet">none</span>}
          </td>
        </Row>
      ))}
      <tr class="total">
        <th scope="row" colSpan={4}>
          Total, each part counted once
        </th>
        <td class="roomy wider" />
        <td class="roomy" />
        <td class="number" data-unit="chips lost">
          <strong>{number(sum.chips)}</strong>
        </td>
        <td class="number" data-unit="GB/s lost">
          <strong>{number(Math.round(sum.bandwidth))}</strong>
        </td>
        <td>{sum.jobs.size ? `${pluralize(sum.jobs.size, "job")} hit` : "no job hit"}</td>
      </tr>
    </SimpleTable>
  );
}

const CLOSED: Column[] = [
  ["ID"],
  ["Severity"],
  ["Place"],
  ["Cause"],
  ["By", "roomy wider"],
  ["Since, UTC"],
  ["Closed, UTC"],
  ["Open for", "number"],
  ["Closed by"],
];

export function ClosedTable({ incidents, sel }: { incidents: ClosedIncident[]; sel: string }) {
  const now = shownTime(useAsOf().asof);
  return (
    <SimpleTable name="Incidents that have closed" columns={CLOSED} isPick>
      {incidents.map((incident) => (
        <Row key={incident.id} content={incident.closedAt} isSelected={incident.id === sel}>
          <Id id={incident.id} />
          <td class="level">
            <SeverityBadge severity={incident.severity} isPast />
          </td>
          <Name id={incident.id} place={placeOf(incident)} state="up" isChosen={incident.id === sel}>
            {incident.causeCount > 1 && pluralize(incident.causeCount, "cause")}
          </Name>
          <Why why={incident.why} />
          <td class="roomy wider">{incident.who}</td>
          <td class="when" data-word="since">
            <ShortTime time={incident.startedAt} now={now} />
          </td>
          <td class="when" data-word="closed">
            <ShortTime time={incident.closedAt} now={now} />
          </td>
          <td class="number" data-unit="open">
            {formatDuration(incident.startedAt, Date.parse(incident.closedAt))}
          </td>
          <td class="closer">
            {incident.closedBy}
            {incident.closedWhy && (
              <span class="quiet" title={incident.closedWhy}>
                <BriefReason text={incident.closedWhy} />
              </span>
            )}
          </td>
        </Row>
      ))}
    </SimpleTable>
  );
}
