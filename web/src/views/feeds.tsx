// What feeds the inventory: discovery targets and imported tools, when each was last read, and whether it is late.
import { useAsOf } from "../live";
import { href } from "../route";
import { type Column, Row, SimpleTable } from "../simpletable";
import { formatDateTime, formatDuration, StateLabel, shownTime } from "../state";
import type { Feed } from "./discovery";

const COLUMNS: Column[] = [["Source"], ["State"], ["Last read"], ["Schedule", "roomy"], ["Clusters", "roomy"]];

export function Feeds({ feeds }: { feeds: Feed[] }) {
  return (
    <section class="card flush feeds" aria-label="What feeds the inventory">
      <h2>What feeds the inventory {feeds.length > 1 && <span class="quiet">late ones first</span>}</h2>
      {feeds.length ? (
        <SimpleTable name="Sources of the inventory" columns={COLUMNS}>
          {feeds.map((feed) => (
            <Line key={feed.name} feed={feed} />
          ))}
        </SimpleTable>
      ) : (
        <p class="inner quiet">
          Nothing yet: all clusters are designs. <code>trninv discover</code> reads machines from AWS, Kubernetes or
          Slurm, and <code>trninv import</code> reads what tools wrote.
        </p>
      )}
    </section>
  );
}

/** How often a source is read, in words. */
const scheduleOf = ({ everySeconds, isImported }: Feed) =>
  isImported
    ? "imported"
    : everySeconds === null
      ? "by hand"
      : `every ${formatDuration("1970-01-01", 1000 * everySeconds)}`;

function Line({ feed }: { feed: Feed }) {
  const { asof } = useAsOf();
  const { name, seenAt, trouble, error, clusters } = feed;
  return (
    <Row content={`${trouble} ${seenAt}`}>
      <th scope="row">
        {name}
        {error && <span class="quiet">{error}</span>}
      </th>
      <td>
        <StateLabel state={trouble ? "degraded" : "up"}>{trouble || "ok"}</StateLabel>
      </td>
      <td>
        {seenAt ? (
          <time dateTime={seenAt} title={formatDateTime(seenAt)}>
            {formatDuration(seenAt, shownTime(asof))} ago
          </time>
        ) : (
          "never"
        )}
      </td>
      <td class="roomy quiet">{scheduleOf(feed)}</td>
      <td class="roomy">
        {clusters.map((cluster, index) => (
          <span key={cluster}>
            {index > 0 && ", "}
            <a href={href("cluster", cluster)}>{cluster}</a>
          </span>
        ))}
      </td>
    </Row>
  );
}
