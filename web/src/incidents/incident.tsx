// One incident: who reported it and why, its impact and consequences, notes, and links to the time before.
import { proposeState, useCanWrite } from "../change/proposal";
import { useAsOf } from "../live";
import { MissingScope } from "../panel/actions";
import { Reason } from "../parts";
import { change, href } from "../route";
import { formatDateTime, formatDuration, formatTime, Glyph, shownTime } from "../state";
import { number, pluralize, shortenAddress } from "../words";
import { Consequences, MoreCauses } from "./consequences";
import { type ClosedIncident, type Incident, isNumber, placeOf, type Severity, stateOf } from "./documents";
import { HitJobs } from "./hitjobs";
import { type ImpactAnswer, ImpactSection, useImpact } from "./impact";
import { SeverityBadge } from "./list";
import { Notes } from "./notes";
import { describeParts, linksOf } from "./rows";

interface HeadingProps {
  id: string;
  state: string;
  place: string;
  severity: Severity;
  isPast?: boolean;
}

function Heading({ id, state, place, severity, isPast = false }: HeadingProps) {
  return (
    <h2>
      <Glyph state={state} />{" "}
      <a class="name" href={href("at", place)}>
        {shortenAddress(place)}
      </a>
      {isNumber(id) && <span class="quiet">Incident {id}</span>}
      <SeverityBadge severity={severity} isPast={isPast} />
      <button type="button" class="square close" aria-label="Close" onClick={() => change({ sel: undefined })}>
        <span aria-hidden="true">×</span>
      </button>
    </h2>
  );
}

interface SummaryProps {
  incident: Pick<Incident, "parts" | "jobs" | "jobCount" | "causes" | "causeCount" | "chipsLost" | "bandwidthLost">;
  costs?: ImpactAnswer | undefined;
  isPast?: boolean;
}

/** Which parts, whose jobs, and what is lost. */
function Summary({ incident, costs, isPast = false }: SummaryProps) {
  return (
    <dl class="figures inner summary">
      <div>
        <dt>Parts</dt>
        <dd>{describeParts([incident])}</dd>
      </div>
      <HitJobs incident={incident} costs={costs} isPast={isPast} />
      <div>
        <dt>Lost</dt>
        <dd>
          {incident.chipsLost > 0 && `${pluralize(incident.chipsLost, "chip")}, `}
          {number(Math.round(incident.bandwidthLost.gigabytesPerSecond))} GB/s of {linksOf(incident)}
        </dd>
      </div>
    </dl>
  );
}

const secondBefore = (time: string) => new Date(Date.parse(time) - 1000).toISOString();

export function OpenPanel({ incident, after }: { incident: Incident; after: string | null }) {
  const { asof } = useAsOf();
  const costs = useImpact(incident.id, after);
  const isChanging = useCanWrite();
  return (
    <aside class="card flush panel" aria-label={`Incident ${incident.id}`}>
      <Heading id={incident.id} state={stateOf(incident)} place={placeOf(incident)} severity={incident.severity} />
      <div class={`band ${stateOf(incident)}`}>
        <strong>
          <Reason text={incident.why || "No reason given"} />
        </strong>
        {incident.startedAt && (
          <span>
            since{" "}
            <time dateTime={incident.startedAt}>
              {formatDateTime(incident.startedAt).replace(/:\d\d UTC$/, " UTC")}
            </time>
            {`, ${formatDuration(incident.startedAt, shownTime(asof))}`}
          </span>
        )}
        {incident.who && (
          <span>
            set by {incident.who}
            {incident.source && incident.source !== "command" && ` from ${incident.source}`}
          </span>
        )}
      </div>
      <Summary incident={incident} costs={costs.data} />
      <div class="inner row">
        {isChanging && incident.causeCount === incident.causes.length && (
          <button
            type="button"
            class="main"
            data-writes
            aria-haspopup="dialog"
            onClick={() => proposeState({ places: incident.causes, state: "up" })}
          >
            Restore…
          </button>
        )}
        {isChanging && (
          <button
            type="button"
            data-writes
            onClick={() => document.querySelector<HTMLElement>(".notes textarea")?.focus()}
          >
            Add a note
          </button>
        )}
        {incident.startedAt && (
          <a class="button" href={href("at", placeOf(incident), { asof: secondBefore(incident.startedAt) })}>
            View before
          </a>
        )}
      </div>
      <MissingScope />
      <ImpactSection result={costs} />
      <div class="inner">
        <h3>Consequences</h3>
        <Consequences incident={incident} costs={costs.data} />
        {incident.instances.map(({ server, instance, host }) => (
          <p key={server} class="quiet">
            {below(server)}: {[instance, host].filter(Boolean).join(", ")}
          </p>
        ))}
        {incident.findings.map((finding) => (
          <p key={finding.id}>
            Drift: {finding.rule.replaceAll("_", " ")} at <a href={href("at", finding.address)}>{finding.address}</a>
            {finding.observed && `: ${finding.observed}`}
          </p>
        ))}
        {incident.lastChange && incident.lastChange.time !== incident.startedAt && (
          <p class="quiet">
            Last change {formatTime(incident.lastChange.time)} UTC, {incident.lastChange.who}:{" "}
            <Reason text={incident.lastChange.why} />
          </p>
        )}
      </div>
      <Notes key={incident.id} incident={incident.id} />
    </aside>
  );
}

const below = (server: string) => server.split("/").slice(-1)[0];

const CAUSES = 8;

export function ClosedPanel({ incident }: { incident: ClosedIncident }) {
  const { causes, causeCount, closedAt, closedBy, closedWhy, id, severity, startedAt, who, why } = incident;
  const place = placeOf(incident);
  return (
    <aside class="card flush panel" aria-label={`Incident ${id}`}>
      <Heading id={id} state="up" place={place} severity={severity} isPast />
      <div class="band">
        <strong>
          <Reason text={why || "No reason given"} />
        </strong>
        <span>
          {who}, <span class="nowrap">{formatDateTime(startedAt)}</span>
        </span>
      </div>
      <Summary incident={incident} isPast />
      <div class="inner row">
        <a class="button" href={href("at", place, { asof: secondBefore(closedAt) })}>
          View before it closed
        </a>
      </div>
      <div class="inner">
        <h3>Closed after {formatDuration(startedAt, Date.parse(closedAt))}</h3>
        <p>
          {closedBy}, <span class="nowrap">{formatDateTime(closedAt)}</span>:{" "}
          <Reason text={closedWhy || "no reason given"} />
        </p>
        <ul class="tree">
          {causes.slice(0, CAUSES).map((cause) => (
            <li key={cause}>
              <a class="address" href={href("at", cause)}>
                {shortenAddress(cause)}
              </a>{" "}
              <span class="quiet">root cause</span>
            </li>
          ))}
          <MoreCauses rest={causes.slice(CAUSES)} count={causeCount - CAUSES} />
        </ul>
      </div>
      <Notes key={id} incident={id} />
    </aside>
  );
}
