-- title: Availability by kind of part
-- answers: What share of the time were the parts of each kind up, degraded, down or in maintenance, their server's state included, how often did a part itself go down, and for how long, by the recorded times of its events in whole seconds (for an earlier end set until, not --at)?
-- parameter: cluster = '' of v_cluster.address — only this one
-- parameter: since = '1970-01-01T00:00:00Z' — an ISO time with its zone; never before the start of the cluster's history
-- parameter: until = '9999-12-31T00:00:00Z' — an ISO time with its zone; never after now
WITH
span AS (
    SELECT
        id, slug, known_from,
        CASE WHEN epoch(known_since) > epoch(:since) THEN epoch(known_since) ELSE epoch(:since) END AS begins,
        CASE WHEN epoch(now()) < epoch(:until) THEN epoch(now()) ELSE epoch(:until) END AS ends
    FROM cluster
    WHERE known_since IS NOT NULL AND (slug = :cluster OR :cluster = '')
),
every AS (
    SELECT domain.cluster_id, 'server' AS kind, count(*) AS parts
    FROM server
    JOIN domain ON domain.id = server.domain_id
    GROUP BY domain.cluster_id
    UNION ALL
    SELECT cluster_id, kind, count(*)
    FROM node
    GROUP BY cluster_id, kind
    UNION ALL
    SELECT node.cluster_id, 'link', count(*)
    FROM link
    JOIN node ON node.id = link.a_id
    GROUP BY node.cluster_id
),
lost AS (
    SELECT domain.cluster_id, 'server' AS kind, server.state, server.state AS own_state
    FROM server
    JOIN domain ON domain.id = server.domain_id
    WHERE server.state <> 'up'
    UNION ALL
    SELECT cluster_id, kind, state, coalesce(own_state, state)
    FROM node
    WHERE state <> 'up'
    UNION ALL
    SELECT node.cluster_id, 'link', link.state, link.state
    FROM link
    JOIN node ON node.id = link.a_id
    WHERE link.state <> 'up'
),
placed AS (
    SELECT domain.cluster_id, event.*
    FROM state_event AS event
    JOIN server ON server.id = event.part_id
    JOIN domain ON domain.id = server.domain_id
    WHERE event.kind = 'server'
    UNION ALL
    SELECT node.cluster_id, event.*
    FROM state_event AS event
    JOIN node ON node.id = event.part_id AND node.kind = event.kind
    UNION ALL
    SELECT node.cluster_id, event.*
    FROM state_event AS event
    JOIN link ON link.id = event.part_id
    JOIN node ON node.id = link.a_id
    WHERE event.kind = 'link'
),
change AS (
    SELECT
        placed.cluster_id, placed.kind, placed.before, placed.state,
        CASE WHEN coalesce(placed.own_state, placed.state) = 'down' THEN 1 ELSE 0 END
            - CASE WHEN coalesce(placed.own_before, placed.before) = 'down' THEN 1 ELSE 0 END AS downs,
        CASE WHEN epoch(placed.at) <= span.ends THEN 1 ELSE 0 END AS within,
        CASE WHEN epoch(placed.at) <= span.ends THEN epoch(placed.at) ELSE span.ends END - span.begins AS lasted
    FROM placed
    JOIN span ON span.id = placed.cluster_id
    WHERE placed.id > span.known_from AND epoch(placed.at) > span.begins
),
undone AS ( -- what is so now and was not before
    SELECT
        cluster_id, kind,
        sum(CASE state WHEN 'degraded' THEN lasted ELSE 0 END - CASE before WHEN 'degraded' THEN lasted ELSE 0 END) AS degraded,
        sum(CASE state WHEN 'down' THEN lasted ELSE 0 END - CASE before WHEN 'down' THEN lasted ELSE 0 END) AS down,
        sum(CASE state WHEN 'maintenance' THEN lasted ELSE 0 END - CASE before WHEN 'maintenance' THEN lasted ELSE 0 END)
            AS maintenance,
        sum(downs * lasted) AS repairing,
        sum(CASE WHEN downs > 0 THEN within ELSE 0 END) AS failures,
        sum(CASE WHEN downs < 0 THEN within ELSE 0 END) AS repairs,
        sum(downs * (1 - within)) AS later
    FROM change
    GROUP BY cluster_id, kind
),
counted AS (
    SELECT
        every.cluster_id, every.kind, every.parts,
        sum(CASE WHEN lost.state = 'degraded' THEN 1 ELSE 0 END) AS degraded,
        sum(CASE WHEN lost.state = 'down' THEN 1 ELSE 0 END) AS down,
        sum(CASE WHEN lost.state = 'maintenance' THEN 1 ELSE 0 END) AS maintenance,
        sum(CASE WHEN lost.own_state = 'down' THEN 1 ELSE 0 END) AS own_down
    FROM every
    LEFT JOIN lost ON lost.cluster_id = every.cluster_id AND lost.kind = every.kind
    GROUP BY every.cluster_id, every.kind, every.parts
),
summed AS (
    SELECT
        span.slug, counted.kind, counted.parts, 1.0 * counted.parts * (span.ends - span.begins) AS whole,
        counted.degraded * (span.ends - span.begins) - coalesce(undone.degraded, 0) AS degraded,
        counted.down * (span.ends - span.begins) - coalesce(undone.down, 0) AS down,
        counted.maintenance * (span.ends - span.begins) - coalesce(undone.maintenance, 0) AS maintenance,
        counted.own_down * (span.ends - span.begins) - coalesce(undone.repairing, 0) AS repairing,
        coalesce(undone.failures, 0) AS failures, coalesce(undone.repairs, 0) AS repairs,
        counted.own_down - coalesce(undone.later, 0) AS own_down
    FROM counted
    JOIN span ON span.id = counted.cluster_id AND span.ends > span.begins
    LEFT JOIN undone ON undone.cluster_id = counted.cluster_id AND undone.kind = counted.kind
)
SELECT
    slug AS cluster, replace(kind, '_', ' ') AS kind, parts,
    round((whole - degraded - down - maintenance) / whole, 9) AS share_up, round(degraded / whole, 9) AS share_degraded,
    round(down / whole, 9) AS share_down, round(maintenance / whole, 9) AS share_maintenance,
    failures, repairs, own_down AS ongoing,
    round((whole - down - maintenance) / failures / 3600, 6) AS mtbf_hours,
    round(1.0 * repairing / repairs / 3600, 6) AS mttr_hours
FROM summed
ORDER BY slug, kind
