-- title: Availability
-- answers: How much of the time was each kind of part up, how often did parts fail, and how long did repairs take?
-- parameter: cluster = '' of v_cluster.address — only this one
-- parameter: since = '1970-01-01T00:00:00Z' — ISO time, such as 2026-11-01T00:00Z
-- parameter: until = '9999-12-31T00:00:00Z' — ISO time, if not now
WITH
span AS (
    SELECT
        id, slug, known_from,
        CASE WHEN epoch(known_since) > epoch(:since) THEN epoch(known_since) ELSE epoch(:since) END AS start_time,
        CASE WHEN epoch(known_since) > epoch(:since) THEN known_since ELSE :since END AS since,
        CASE WHEN epoch(now()) < epoch(:until) THEN epoch(now()) ELSE epoch(:until) END AS end_time
    FROM cluster
    WHERE known_since IS NOT NULL AND (slug = :cluster OR :cluster = '')
),
known_part AS (
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
unhealthy AS (
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
event_of_cluster AS (
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
        event_of_cluster.id, event_of_cluster.part_id, event_of_cluster.at, span.known_from,
        event_of_cluster.cluster_id, event_of_cluster.kind, event_of_cluster.before, event_of_cluster.state,
        CASE WHEN coalesce(event_of_cluster.own_state, event_of_cluster.state) = 'down' THEN 1 ELSE 0 END
            - CASE WHEN coalesce(event_of_cluster.own_before, event_of_cluster.before) = 'down' THEN 1 ELSE 0 END
            AS down_change,
        CASE WHEN event_of_cluster.state = 'down' AND event_of_cluster.own_state <> 'down' THEN 1 ELSE 0 END
            - CASE WHEN event_of_cluster.before = 'down' AND event_of_cluster.own_before <> 'down' THEN 1 ELSE 0 END
            AS down_with_server_change,
        CASE WHEN epoch(event_of_cluster.at) <= span.end_time THEN 1 ELSE 0 END AS is_in_span,
        CASE WHEN epoch(event_of_cluster.at) <= span.end_time THEN epoch(event_of_cluster.at) ELSE span.end_time END
            - span.start_time AS seconds_before
    FROM event_of_cluster
    JOIN span ON span.id = event_of_cluster.cluster_id
    WHERE event_of_cluster.id > span.known_from AND epoch(event_of_cluster.at) > span.start_time
),
correction AS ( -- states_now assumes today's states for the whole span; this subtracts the seconds before each event
    SELECT
        cluster_id, kind,
        sum(CASE state WHEN 'degraded' THEN seconds_before ELSE 0 END
            - CASE before WHEN 'degraded' THEN seconds_before ELSE 0 END) AS degraded,
        sum(CASE state WHEN 'down' THEN seconds_before ELSE 0 END
            - CASE before WHEN 'down' THEN seconds_before ELSE 0 END) AS down,
        sum(CASE state WHEN 'maintenance' THEN seconds_before ELSE 0 END
            - CASE before WHEN 'maintenance' THEN seconds_before ELSE 0 END) AS maintenance,
        sum(down_change * seconds_before) AS repair_seconds,
        sum(CASE WHEN down_change > 0 THEN is_in_span ELSE 0 END) AS failures,
        sum(CASE WHEN down_change < 0 THEN is_in_span ELSE 0 END) AS repairs,
        sum(down_change * (1 - is_in_span)) AS later_down_change,
        sum(down_with_server_change * (1 - is_in_span)) AS later_down_with_server_change
    FROM change
    GROUP BY cluster_id, kind
),
ended_repair AS ( -- from the failure, which may be before the span; not known if it is before the history
    SELECT change.cluster_id, change.kind, avg(epoch(change.at) - epoch(failure.at)) AS seconds
    FROM change
    JOIN state_event AS failure ON failure.id = (
        SELECT max(event.id + 0) FROM state_event AS event
        WHERE event.kind = change.kind AND event.part_id = change.part_id
            AND event.id > change.known_from AND event.id < change.id
            AND coalesce(event.own_state, event.state) = 'down'
            AND coalesce(event.own_before, event.before) <> 'down'
    )
    WHERE change.down_change < 0 AND change.is_in_span = 1
    GROUP BY change.cluster_id, change.kind
),
states_now AS (
    SELECT
        known_part.cluster_id, known_part.kind, known_part.parts,
        sum(CASE WHEN unhealthy.state = 'degraded' THEN 1 ELSE 0 END) AS degraded,
        sum(CASE WHEN unhealthy.state = 'down' THEN 1 ELSE 0 END) AS down,
        sum(CASE WHEN unhealthy.state = 'maintenance' THEN 1 ELSE 0 END) AS maintenance,
        sum(CASE WHEN unhealthy.own_state = 'down' THEN 1 ELSE 0 END) AS own_down,
        sum(CASE WHEN unhealthy.state = 'down' AND unhealthy.own_state <> 'down' THEN 1 ELSE 0 END) AS down_with_server
    FROM known_part
    LEFT JOIN unhealthy ON unhealthy.cluster_id = known_part.cluster_id AND unhealthy.kind = known_part.kind
    GROUP BY known_part.cluster_id, known_part.kind, known_part.parts
),
summed AS (
    SELECT
        span.slug, span.since, states_now.kind, states_now.parts, 1.0 * states_now.parts * (span.end_time - span.start_time) AS total_seconds,
        states_now.degraded * (span.end_time - span.start_time) - coalesce(correction.degraded, 0) AS degraded,
        states_now.down * (span.end_time - span.start_time) - coalesce(correction.down, 0) AS down,
        states_now.maintenance * (span.end_time - span.start_time) - coalesce(correction.maintenance, 0) AS maintenance,
        states_now.own_down * (span.end_time - span.start_time) - coalesce(correction.repair_seconds, 0) AS repair_seconds,
        coalesce(correction.failures, 0) AS failures, coalesce(correction.repairs, 0) AS repairs,
        states_now.own_down - coalesce(correction.later_down_change, 0) AS own_down,
        states_now.down_with_server - coalesce(correction.later_down_with_server_change, 0) AS down_with_server,
        ended_repair.seconds AS ended_repair_seconds
    FROM states_now
    JOIN span ON span.id = states_now.cluster_id AND span.end_time > span.start_time
    LEFT JOIN correction ON correction.cluster_id = states_now.cluster_id AND correction.kind = states_now.kind
    LEFT JOIN ended_repair ON ended_repair.cluster_id = states_now.cluster_id AND ended_repair.kind = states_now.kind
)
SELECT
    slug AS cluster, replace(kind, '_', ' ') AS kind,
    round((total_seconds - degraded - down - maintenance) / total_seconds, 9) AS share_up,
    failures, own_down AS ongoing,
    round(1.0 * repair_seconds / repairs / 3600, 6) AS mttr_hours,
    round((total_seconds - down - maintenance) / failures / 3600, 6) AS mtbf_hours,
    repairs, round(degraded / total_seconds, 9) AS share_degraded,
    round(down / total_seconds, 9) AS share_down, round(maintenance / total_seconds, 9) AS share_maintenance,
    parts, since AS measured_since, round(ended_repair_seconds / 3600, 6) AS ended_repair_hours,
    down_with_server AS ongoing_with_server
FROM summed
ORDER BY share_up, slug, kind
