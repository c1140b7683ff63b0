// The history of a part as a table, one row for each change.
import { describeEvent, EventGlyph } from "../events";
import { Reason } from "../parts";
import { href } from "../route";
import { type Column, SimpleTable } from "../simpletable";
import { formatDateTime } from "../state";
import { pluralize } from "../words";
import { changesOf, describeParts } from "./changes";
import type { HistoryAnswer } from "./documents";

const COLUMNS: Column[] = [["When, UTC"], ["Change"], ["Reason"], ["Parts"], ["By"]];
/** Rows that are shown at first. */
const FEW = 12;

interface Props {
  events: HistoryAnswer;
  place: string;
  /** The part's jobs. */
  jobs: string[];
}

export function History({ events, place, jobs }: Props) {
  const changes = changesOf(events.nodes, events.totalCount, place, jobs);
  return (
    <section class="card flush part-history" aria-label="History">
      <h2>
        History <span class="quiet">{pluralize(changes.length, "change")}</span>
      </h2>
      {changes.length ? (
        <SimpleTable name="Changes, the newest first" columns={COLUMNS}>
          {changes.slice(0, FEW).map(({ event, addresses }) => (
            <tr key={event.event}>
              <th scope="row">
                <EventGlyph event={event} />{" "}
                <a href={href("at", place, { asof: event.event })} title="The page just after it">
                  {formatDateTime(event.at).replace(/:\d\d UTC$/, "")}
                </a>
              </th>
              <td>{describeEvent(event)}</td>
              <td>
                <Reason text={event.why} />
              </td>
              <td>
                {event.action ? null : addresses.length === 1 && addresses[0] !== place ? (
                  <a href={href("at", addresses[0])}>{describeParts(addresses, place)}</a>
                ) : (
                  describeParts(addresses, place)
                )}
              </td>
              <td>{event.who}</td>
            </tr>
          ))}
        </SimpleTable>
      ) : (
        <p class="inner quiet">No changes since this cluster was made.</p>
      )}
      {changes.length > FEW && (
        <p class="foot quiet">
          {pluralize(changes.length - FEW, "earlier change")}: open this page at an earlier time to see them.
        </p>
      )}
    </section>
  );
}
