WITH later AS ( -- the earliest time after each 1,024 events
    SELECT id - id % 1024 AS bucket,
        min(min(us)) OVER (ORDER BY id - id % 1024 DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS us
    FROM event GROUP BY id - id % 1024
),
back AS ( -- and within them
    SELECT id - id % 1024 AS bucket, id,
        lag(id) OVER (PARTITION BY id - id % 1024 ORDER BY id) AS since_id,
        min(us) OVER (PARTITION BY id - id % 1024 ORDER BY id DESC) AS us
    FROM event WHERE clock_went_back
),
observed AS (
    SELECT kind, part_id, {by} AS name, known_from, greatest(since_us, {since}) AS begins,
        state, coalesce(own_state, state) AS own_state
    FROM part WHERE greatest(since_us, {since}) < {until}
),
begun AS (
    SELECT /*+ BROADCAST(observed) */ event.kind, event.part_id, event.before AS state,
        coalesce(event.own_before, event.before) AS own_state
    FROM event JOIN observed ON observed.kind = event.kind AND observed.part_id = event.part_id
    WHERE event.id > observed.known_from AND coalesce(event.previous_id, 0) <= observed.known_from
        AND coalesce(event.previous_id, 0) <= (SELECT max(known_from) FROM part)
),
edge AS ( -- a part stood as its first event says, and where it has none as it stands
    SELECT observed.kind, observed.name, '' AS before, coalesce(begun.state, observed.state) AS state, '' AS own_before,
        coalesce(begun.own_state, observed.own_state) AS own_state, 0 AS within, {until} - observed.begins AS lasts
    FROM observed LEFT JOIN begun ON begun.kind = observed.kind AND begun.part_id = observed.part_id
),
timed AS ( -- where a clock went back, an event is as early as the earliest after it, as trninv --at says
    SELECT /*+ BROADCAST(later, back) */ event.kind, event.part_id, event.id, event.before, event.state,
        coalesce(event.own_before, event.before) AS own_before, coalesce(event.own_state, event.state) AS own_state,
        least(event.us, coalesce(later.us, event.us), coalesce(back.us, event.us)) AS us
    FROM event JOIN later ON later.bucket = event.id - event.id % 1024
        LEFT JOIN back ON back.bucket = event.id - event.id % 1024
            AND event.id >= coalesce(back.since_id, 0) AND event.id < back.id
),
changed AS (
    SELECT /*+ BROADCAST(observed) */ timed.kind, observed.name, timed.before, timed.state, timed.own_before,
        timed.own_state, CASE WHEN timed.us > observed.begins THEN 1 ELSE 0 END AS within,
        {until} - greatest(timed.us, observed.begins) AS lasts
    FROM timed JOIN observed ON observed.kind = timed.kind AND observed.part_id = timed.part_id
    WHERE timed.id > observed.known_from AND timed.us <= {until}
),
moved AS (SELECT * FROM edge UNION ALL SELECT * FROM changed)
SELECT kind, name, before, state, own_before, own_state, within, count(*) AS number,
    sum(CAST(floor(lasts / 1000000) AS BIGINT)) AS seconds, sum(lasts % 1000000) AS micros
FROM moved GROUP BY kind, name, before, state, own_before, own_state, within
