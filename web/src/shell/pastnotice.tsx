// The notice of an earlier time: what has changed since, and a link to now.
import { graphql, makeQuery, runQuery, useLoaded } from "../api";
import { describeEvent, EventGlyph } from "../events";
import { Reason } from "../parts";
import { change, href, type Route } from "../route";
import { formatAsOf, formatDateTime, isTime } from "../state";
import { number, pluralize, shortenAddress } from "../words";
import { Icon } from "./icons";

const SINCE = graphql(`
  query Since($scope: Address, $since: String, $after: Int!) {
    events(last: 12, scope: $scope, since: $since, filter: { cascaded: { eq: false }, event: { gt: $after } }) {
      totalCount
      nodes { event at who address before after action job movedFrom why }
    }
  }
`);

/** Views of one place, which list only its changes. */
const PLACES = new Set(["at", "cluster", "domain", "rack"]);

export function PastNotice({ asof, route }: { asof: string; route: Route }) {
  const scope = PLACES.has(route.view) && !route.subject.startsWith("@") ? route.subject : null;
  const since = isTime(asof) ? asof : null;
  const isKnown = since !== null || /^\d{1,15}$/.test(asof);
  const { data } = useLoaded(isKnown ? `since ${asof} ${scope}` : null, (signal) =>
    runQuery({ ...makeQuery(SINCE, { scope: scope, since, after: since ? 0 : Number(asof) }), at: "" }, signal),
  );
  const events = data?.events;
  return (
    <section class="bygone" aria-label="The past">
      <p>
        <Icon name="time" /> As of {formatAsOf(asof)}.{" "}
        <span class="quiet">
          Read only.{" "}
          {events &&
            `${events.totalCount ? pluralize(events.totalCount, "change") : "No changes"}${scope ? " here" : ""} since then.`}
        </span>
      </p>
      <button type="button" class="main" onClick={() => change({ asof: undefined })}>
        Back to now
      </button>
      {events && events.totalCount > 0 && (
        <details>
          <summary>Show changes</summary>
          <ul class="rows">
            {[...events.nodes].reverse().map((event) => (
              <li key={event.event}>
                <a href={href("at", event.address)}>
                  <EventGlyph event={event} />
                  <span>
                    <strong>{shortenAddress(event.address)}</strong> {describeEvent(event)}
                    <span class="quiet">
                      <Reason text={event.why} /> · {event.who}
                    </span>
                  </span>
                  <span class="quiet">{formatDateTime(event.at)}</span>
                </a>
              </li>
            ))}
          </ul>
          {events.totalCount > events.nodes.length && (
            <p class="quiet">Showing the last {number(events.nodes.length)}. Earlier changes are on the timeline.</p>
          )}
        </details>
      )}
    </section>
  );
}
