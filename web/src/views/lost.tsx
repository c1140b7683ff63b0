// Why links carry less than when healthy: the open incidents that cost bandwidth.
import { graphql, makeQuery, useQuery } from "../api";
import { placeOf, stateOf } from "../incidents/documents";
import { useAsOf } from "../live";
import { Address, BriefReason, Loading } from "../parts";
import { href } from "../route";
import { type Column, SimpleTable } from "../simpletable";
import { formatDateTime, formatDuration, Glyph, shownTime } from "../state";
import { exact, pluralize, shortenAddress } from "../words";

const LOSSES = graphql(`
  query LostBandwidth($scope: Address) {
    incidents(scope: $scope, first: 200) {
      nodes { id place causes startedAt why parts { kind state count } bandwidthLost { gigabytesPerSecond } }
    }
  }
`);

/** Incidents that are listed; all are on their page. */
const MOST = 5;

const COLUMNS: Column[] = [["Incident"], ["Lost, GB/s", "number"], ["Cause"], ["For", "roomy"]];

/** The incidents at or below a cluster, or in all, by the bandwidth that they cost. */
export function LostBandwidth({ scope }: { scope: string | null }) {
  const now = shownTime(useAsOf().asof);
  return (
    <section class="card flush by-change losses" aria-label="Causes">
      <h2>Why: open incidents that cost bandwidth</h2>
      <Loading result={useQuery(makeQuery(LOSSES, { scope }))}>
        {({ incidents: { nodes } }) => {
          const rows = nodes
            .map((incident) => ({ ...incident, lost: incident.bandwidthLost.gigabytesPerSecond }))
            .filter(({ lost }) => lost > 0)
            .sort((a, b) => b.lost - a.lost);
          if (!rows.length) return <p>None: every link carries what it does when healthy.</p>;
          return (
            <>
              <SimpleTable name="Incidents by lost bandwidth" columns={COLUMNS}>
                {rows.slice(0, MOST).map((incident) => (
                  <tr key={incident.id}>
                    <th scope="row">
                      <Glyph state={stateOf(incident)} />
                      <span class="unseen">{stateOf(incident)}: </span>
                      <a href={href("incidents", "", { sel: incident.id })}>
                        <Address text={shortenAddress(placeOf(incident))} />
                      </a>
                    </th>
                    <td class="number">{exact(incident.lost)}</td>
                    <td class="why">
                      {incident.why ? <BriefReason text={incident.why} /> : <span class="quiet">no reason given</span>}
                    </td>
                    <td class="roomy when">
                      {incident.startedAt && (
                        <time dateTime={incident.startedAt} title={formatDateTime(incident.startedAt)}>
                          {formatDuration(incident.startedAt, now)}
                        </time>
                      )}
                    </td>
                  </tr>
                ))}
              </SimpleTable>
              <p class="foot">
                {rows.length > MOST && <a href={href("incidents")}>{pluralize(rows.length - MOST, "more incident")}</a>}{" "}
                <span class="quiet">
                  All incidents together: {exact(rows.reduce((sum, { lost }) => sum + lost, 0))} GB/s.
                </span>
              </p>
            </>
          );
        }}
      </Loading>
    </section>
  );
}
