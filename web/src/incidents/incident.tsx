// One incident: who says what of it, what follows from it, what it costs, and the way to what was before.
import { mayChange, proposeChange } from "../change/asked";
import { useTurn } from "../live";
import { Wanting } from "../panel/actions";
import { change, href } from "../route";
import { clock, dated, Glyph, lasted, now } from "../state";
import { shortened } from "../words";
import { type Incident, placeOf, stateOf } from "./documents";
import { Follows } from "./follows";
import { Cost, useCosts } from "./impact";

export function Opened({ of, after }: { of: Incident; after: string | null }) {
  const { asof } = useTurn();
  const costs = useCosts(of.id, after);
  const isChanging = mayChange();
  const before = of.startedAt && new Date(Date.parse(of.startedAt) - 1000).toISOString();
  return (
    <aside class="card flush panel" aria-label={`Incident ${of.id}`}>
      <h2>
        <Glyph state={stateOf(of)} /> <span class="name">{shortened(placeOf(of))}</span>
        <button type="button" class="square" aria-label="Close" onClick={() => change({ sel: undefined })}>
          <span aria-hidden="true">×</span>
        </button>
      </h2>
      <div class={`band ${stateOf(of)}`}>
        <strong>{of.why ?? "No reason given"}</strong>
        <span>
          {of.who}
          {of.startedAt && `, ${dated(of.startedAt)}, ${lasted(of.startedAt, now(asof))} ago`}
          {of.source && `, by ${of.source}`}
        </span>
      </div>
      <div class="inner row">
        {isChanging && of.causeCount === of.causes.length && (
          <button
            type="button"
            data-writes
            aria-haspopup="dialog"
            onClick={() => proposeChange({ places: of.causes, state: "up" })}
          >
            Restore…
          </button>
        )}
        {of.place && (
          <a class="button main" href={href("at", of.place)}>
            Open
          </a>
        )}
        {before && (
          <a class="button" href={href("at", placeOf(of), { asof: before })}>
            View before
          </a>
        )}
      </div>
      <Wanting />
      <div class="inner">
        <h3>Consequences</h3>
        <Follows of={of} costs={costs.data} />
        {of.instances.map(({ server, instance, host }) => (
          <p key={server} class="quiet">
            {below(server)}: {[instance, host].filter(Boolean).join(", ")}
          </p>
        ))}
        {of.findings.map((each) => (
          <p key={each.id}>
            Drift: {each.rule.replaceAll("_", " ")} at <a href={href("at", each.address)}>{each.address}</a>
            {each.observed && `: ${each.observed}`}
          </p>
        ))}
      </div>
      <Cost of={costs} />
      {of.lastChange && of.lastChange.time !== of.startedAt && (
        <p class="inner quiet">
          Last change {clock(of.lastChange.time)} UTC, {of.lastChange.who}: {of.lastChange.why}
        </p>
      )}
    </aside>
  );
}

const below = (server: string) => server.split("/").slice(-1)[0];
