WITH bucketed AS (
    SELECT *, CAST(floor(id / 65536) AS BIGINT) AS bucket FROM event
),
later AS (
    SELECT bucket, min(min(ms)) OVER (ORDER BY bucket DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ms
    FROM bucketed GROUP BY bucket
),
timed AS ( -- where a clock went back, an event is as early as the earliest after it, as trninv --at says
    SELECT
        event.*,
        least(
            -- backwards, since Spark looks at each row's whole frame where that ends with the partition
            min(event.ms) OVER (PARTITION BY event.bucket ORDER BY event.id DESC ROWS UNBOUNDED PRECEDING),
            coalesce(later.ms, event.ms)
        ) AS at_ms
    FROM bucketed AS event JOIN later ON later.bucket = event.bucket
),
known AS (
    SELECT
        part.*, timed.id, timed.at_ms, timed.before, timed.state AS after,
        greatest(since_ms, {since}) AS begins
    FROM part JOIN timed ON timed.kind = part.kind AND timed.part_id = part.part_id AND timed.id > part.known_from
),
turned AS (
    SELECT
        *,
        lead(at_ms) OVER (PARTITION BY kind, part_id ORDER BY id) AS until_ms,
        row_number() OVER (PARTITION BY kind, part_id ORDER BY id) AS number
    FROM known
),
lived AS (
    SELECT
        kind, part_id,
        sum(
            CASE WHEN after <> 'up'
                THEN greatest(least(coalesce(until_ms, {until}), {until}) - greatest(at_ms, begins), 0) ELSE 0 END
            + CASE WHEN number = 1 AND before <> 'up' THEN greatest(least(at_ms, {until}) - begins, 0) ELSE 0 END
        ) AS lost,
        sum(
            CASE WHEN before = 'up' AND after <> 'up' AND at_ms >= begins AND at_ms < {until} THEN 1 ELSE 0 END
        ) AS failures
    FROM turned GROUP BY kind, part_id
),
each AS (
    SELECT
        part.kind, coalesce(part.{by}, '') AS name,
        greatest({until} - greatest(since_ms, {since}), 0) AS observed,
        CASE WHEN lived.part_id IS NOT NULL THEN lived.lost
            WHEN part.state <> 'up' THEN greatest({until} - greatest(since_ms, {since}), 0) ELSE 0 END AS lost,
        coalesce(lived.failures, 0) AS failures
    FROM part LEFT JOIN lived ON lived.kind = part.kind AND lived.part_id = part.part_id
),
total AS (
    SELECT
        kind, name, CAST(count(*) AS BIGINT) AS parts, CAST(sum(observed) AS BIGINT) AS observed_ms,
        CAST(sum(lost) AS BIGINT) AS lost_ms, CAST(sum(failures) AS BIGINT) AS failures
    FROM each WHERE observed > 0 GROUP BY kind, name
)
SELECT
    kind, name, parts, observed_ms, lost_ms, failures,
    CAST(observed_ms - lost_ms AS DOUBLE) / CAST(observed_ms AS DOUBLE) AS share_up,
    CASE WHEN failures > 0 THEN CAST(observed_ms - lost_ms AS DOUBLE) / CAST(failures * 3600000 AS DOUBLE) END AS mtbf_hours,
    CASE WHEN failures > 0 THEN CAST(lost_ms AS DOUBLE) / CAST(failures * 3600000 AS DOUBLE) END AS mttr_hours
FROM total ORDER BY kind, name
