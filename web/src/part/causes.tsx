// Why parts of a place are unhealthy: a band for each root cause, with its reason, since when, by whom, and whose job it hits.
import { useAsOf } from "../live";
import { BriefReason } from "../parts";
import { href } from "../route";
import { formatDateTime, formatDuration, Glyph, STATES, shownTime, stateWord } from "../state";
import "../style/causes.css";
import { number, pluralize, relativeTo, shortenAddress } from "../words";
import { Hits } from "./hits";

/** Jobs that a cause names. */
const NAMED = 2;

interface Cause {
  id: string;
  place: string | null;
  causes: readonly string[];
  causeCount: number;
  why: string | null;
  who: string | null;
  startedAt: string | null;
  jobs: readonly string[];
  jobCount: number;
  parts: readonly { state: string }[];
}

interface Props {
  /** Addresses are shown relative to it. */
  place: string;
  incidents: { totalCount: number; nodes: readonly Cause[] };
}

export function Causes({ place: base, incidents }: Props) {
  const { asof } = useAsOf();
  const more = incidents.totalCount - incidents.nodes.length;
  return (
    <section class="card flush cause-bands" aria-label="Causes">
      <h2>
        Unhealthy <span class="quiet">{pluralize(incidents.totalCount, "cause")}</span>
        <a class="more" href={href("incidents")}>
          Incidents
        </a>
      </h2>
      {incidents.nodes.map(({ id, place, causes, causeCount, why, who, startedAt, parts, jobs, jobCount }) => {
        const state = STATES.find((state) => parts.some((part) => part.state === state)) ?? "down";
        const address = causes[0] ?? place ?? "";
        return (
          <div key={id} class={`band ${state}`}>
            <strong class="cause">
              <Glyph state={state} />
              <a class="address" href={href("at", address)}>
                {shortenAddress(relativeTo(base, address))}
              </a>
              {causeCount > 1 && ` and ${number(causeCount - 1)} more`}
            </strong>
            <strong>
              <BriefReason text={why ?? "no reason given"} />
            </strong>
            <span>
              {stateWord(state)}
              {startedAt && (
                <>
                  {" since "}
                  <span class="nowrap">{formatDateTime(startedAt).replace(/:\d\d UTC$/, " UTC")}</span>
                  {`, ${formatDuration(startedAt, shownTime(asof))}`}
                </>
              )}
              {who && `, set by ${who}`}
            </span>
            <span class="hits">
              <Hits jobs={jobs.slice(0, NAMED)} more={jobCount - NAMED} />
              <a href={href("incidents", "", { sel: id })}>Incident {id}</a>
            </span>
          </div>
        );
      })}
      {more > 0 && <p class="inner quiet">and {pluralize(more, "more cause")}</p>}
    </section>
  );
}
