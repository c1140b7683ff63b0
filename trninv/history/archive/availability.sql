-- Transitions of parts per group, each with the sum of the times from it to {until}. Times are microseconds since 1970.
-- The result is read by trninv.history.archive.availability.
--
-- A time is corrected where the clock went back: an event's corrected time is the earliest of its own time and those of
-- all later events. `later` and `back` have these minima, so that no sort over all events is needed.
WITH later AS ( -- the earliest time after each bucket of 1,024 events
    SELECT id - id % 1024 AS bucket,
        min(min(us)) OVER (ORDER BY id - id % 1024 DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS us
    FROM event GROUP BY id - id % 1024
),
back AS ( -- the earliest time from each event with clock_went_back to the end of its bucket
    SELECT id - id % 1024 AS bucket, id,
        lag(id) OVER (PARTITION BY id - id % 1024 ORDER BY id) AS since_id,
        min(us) OVER (PARTITION BY id - id % 1024 ORDER BY id DESC) AS us
    FROM event WHERE clock_went_back
),
observed AS ( -- parts with a known history in the period, and the time from which each is observed
    SELECT kind, part_id, {by} AS name, known_from, greatest(since_us, {since}) AS begins,
        state, coalesce(own_state, state) AS own_state
    FROM part WHERE greatest(since_us, {since}) < {until}
),
begun AS ( -- the state of a part before its first event
    SELECT /*+ BROADCAST(observed) */ event.kind, event.part_id, event.before AS state,
        coalesce(event.own_before, event.before) AS own_state
    FROM event JOIN observed ON observed.kind = event.kind AND observed.part_id = event.part_id
    WHERE event.id > observed.known_from AND coalesce(event.previous_id, 0) <= observed.known_from
        -- follows from the condition before, but can be tested before the join
        AND coalesce(event.previous_id, 0) <= (SELECT max(known_from) FROM part)
),
initial AS ( -- the state in which each part's history starts: before its first event, or else its current state
    SELECT observed.kind, observed.name, '' AS before, coalesce(begun.state, observed.state) AS state, '' AS own_before,
        coalesce(begun.own_state, observed.own_state) AS own_state, 0 AS within, {until} - observed.begins AS duration
    FROM observed LEFT JOIN begun ON begun.kind = observed.kind AND begun.part_id = observed.part_id
),
timed AS ( -- events with their corrected times
    SELECT /*+ BROADCAST(later, back) */ event.kind, event.part_id, event.id, event.before, event.state,
        coalesce(event.own_before, event.before) AS own_before, coalesce(event.own_state, event.state) AS own_state,
        least(event.us, coalesce(later.us, event.us), coalesce(back.us, event.us)) AS us
    FROM event JOIN later ON later.bucket = event.id - event.id % 1024
        LEFT JOIN back ON back.bucket = event.id - event.id % 1024
            AND event.id >= coalesce(back.since_id, 0) AND event.id < back.id
),
changed AS ( -- changes up to the end; within is 1 if the change is after the start
    SELECT /*+ BROADCAST(observed) */ timed.kind, observed.name, timed.before, timed.state, timed.own_before,
        timed.own_state, CASE WHEN timed.us > observed.begins THEN 1 ELSE 0 END AS within,
        {until} - greatest(timed.us, observed.begins) AS duration
    FROM timed JOIN observed ON observed.kind = timed.kind AND observed.part_id = timed.part_id
    WHERE timed.id > observed.known_from AND timed.us <= {until}
),
transition AS (SELECT * FROM initial UNION ALL SELECT * FROM changed)
SELECT kind, name, before, state, own_before, own_state, within, count(*) AS number,
    sum(CAST(floor(duration / 1000000) AS BIGINT)) AS seconds, sum(duration % 1000000) AS micros
FROM transition GROUP BY kind, name, before, state, own_before, own_state, within
