// One incident: who reported it and why, its consequences and impact, and a link to the time before.
import { proposeState, useCanWrite } from "../change/proposal";
import { useAsOf } from "../live";
import { MissingScope } from "../panel/actions";
import { change, href } from "../route";
import { formatDateTime, formatDuration, formatTime, Glyph, shownTime } from "../state";
import { shortenAddress } from "../words";
import { Consequences } from "./consequences";
import { type Incident, placeOf, stateOf } from "./documents";
import { ImpactSection, useImpact } from "./impact";

export function Opened({ incident, after }: { incident: Incident; after: string | null }) {
  const { asof } = useAsOf();
  const costs = useImpact(incident.id, after);
  const isChanging = useCanWrite();
  const before = incident.startedAt && new Date(Date.parse(incident.startedAt) - 1000).toISOString();
  return (
    <aside class="card flush panel" aria-label={`Incident ${incident.id}`}>
      <h2>
        <Glyph state={stateOf(incident)} /> <span class="name">{shortenAddress(placeOf(incident))}</span>
        <button type="button" class="square" aria-label="Close" onClick={() => change({ sel: undefined })}>
          <span aria-hidden="true">×</span>
        </button>
      </h2>
      <div class={`band ${stateOf(incident)}`}>
        <strong>{incident.why ?? "No reason given"}</strong>
        <span>
          {incident.who}
          {incident.startedAt &&
            `, ${formatDateTime(incident.startedAt)}, ${formatDuration(incident.startedAt, shownTime(asof))} ago`}
          {incident.source && `, by ${incident.source}`}
        </span>
      </div>
      <div class="inner row">
        {isChanging && incident.causeCount === incident.causes.length && (
          <button
            type="button"
            data-writes
            aria-haspopup="dialog"
            onClick={() => proposeState({ places: incident.causes, state: "up" })}
          >
            Restore…
          </button>
        )}
        {incident.place && (
          <a class="button main" href={href("at", incident.place)}>
            Open
          </a>
        )}
        {before && (
          <a class="button" href={href("at", placeOf(incident), { asof: before })}>
            View before
          </a>
        )}
      </div>
      <MissingScope />
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
      </div>
      <ImpactSection result={costs} />
      {incident.lastChange && incident.lastChange.time !== incident.startedAt && (
        <p class="inner quiet">
          Last change {formatTime(incident.lastChange.time)} UTC, {incident.lastChange.who}: {incident.lastChange.why}
        </p>
      )}
    </aside>
  );
}

const below = (server: string) => server.split("/").slice(-1)[0];
