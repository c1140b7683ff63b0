// Reservations of the Jobs page: what is kept for whom, and when, on one axis of time.
import { makeQuery, type Result, useQuery } from "../api";
import { useAsOf } from "../live";
import { Loading } from "../parts";
import { href } from "../route";
import { formatDateTime, formatDuration, StateLabel, shownTime } from "../state";
import { pluralize } from "../words";
import { RESERVATIONS } from "./documents";

type ReservationList = Result<typeof RESERVATIONS>["reservations"];
type Reservation = ReservationList["nodes"][number];

export function Reservations({ scope }: { scope: string }) {
  const reservations = useQuery(makeQuery(RESERVATIONS, { scope: scope || null }));
  return (
    <section class="card" aria-label="Reservations">
      <h2>Reservations in {scope || "all clusters"}</h2>
      <Loading result={reservations}>{({ reservations: listed }) => <Axis {...listed} />}</Loading>
    </section>
  );
}

function Axis({ nodes, totalCount }: ReservationList) {
  const { asof } = useAsOf();
  const now = shownTime(asof);
  if (!nodes.length)
    return (
      <p class="quiet">
        Nothing is reserved. <code>trninv reserve NAME PLACE --until TIME</code> keeps chips for a job or for
        maintenance.
      </p>
    );
  const start = Math.min(now, ...nodes.map(({ fromAt }) => Date.parse(fromAt)));
  const end = Math.max(now, ...nodes.map(({ untilAt }) => Date.parse(untilAt)));
  const at = (time: number) => (100 * (time - start)) / Math.max(1, end - start);
  return (
    <>
      <ol class="reservations">
        {nodes.map((reservation) => (
          <Row key={`${reservation.name} ${reservation.reservedAt}`} {...{ reservation, now, at }} />
        ))}
      </ol>
      {totalCount > nodes.length && <p class="quiet">{pluralize(totalCount - nodes.length, "later reservation")}</p>}
    </>
  );
}

interface RowProps {
  reservation: Reservation;
  now: number;
  /** The position of a time on the axis, in percent. */
  at: (time: number) => number;
}

function Row({ reservation, now, at }: RowProps) {
  const { name, kind, place, chips, failedChips, fromAt, untilAt, who, why } = reservation;
  const [from, until] = [Date.parse(fromAt), Date.parse(untilAt)];
  const nowText = new Date(now).toISOString();
  const when =
    until <= now
      ? "has ended"
      : from <= now
        ? `ends in ${formatDuration(nowText, until)}`
        : `begins in ${formatDuration(nowText, from)}`;
  return (
    <li>
      <strong>{name}</strong> {kind === "maintenance" && "(maintenance) "}
      {when}: {pluralize(chips, "chip")} in <a href={href("at", place)}>{place}</a>
      <span class={`track ${kind}`} aria-hidden="true">
        <span style={{ marginLeft: `${at(from)}%`, width: `${at(until) - at(from)}%` }} />
      </span>
      <span class="quiet">
        <time dateTime={fromAt}>{formatDateTime(fromAt)}</time> to{" "}
        <time dateTime={untilAt}>{formatDateTime(untilAt)}</time>, by {who}
        {why && `: ${why}`}
      </span>
      {failedChips > 0 && <StateLabel state="down">{pluralize(failedChips, "failed chip")}</StateLabel>}
    </li>
  );
}
