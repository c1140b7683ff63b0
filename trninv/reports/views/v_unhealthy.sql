-- An unhealthy part, and the change that made its cause unhealthy: incidents without the five-minute windows. What is
-- not known about that change is null.
-- common: address, cluster, state, factor
-- kind: `server`, `chip`, `switch`, `nic`, `network_node` or `link`
-- since: when it became unhealthy
-- who, why: author and reason of the change
-- source: `command`, `api`, `import`, `drift` or `sql`
-- cause: address of its cause: its server, an end of the link, or itself
-- change: number of the change that made the cause unhealthy
-- example: SELECT change, cause, count(*) AS parts FROM v_unhealthy GROUP BY change, cause ORDER BY change, cause

WITH
unhealthy AS (
    SELECT
        'server' AS kind, server.id, domain.cluster_id, server.state, server.factor_ppm, server.state AS own,
        'server' AS cause_kind, server.id AS cause_id
    FROM server
    JOIN domain ON domain.id = server.domain_id
    WHERE server.state <> 'up' AND {{ maybe_unhealthy_server }}
    UNION ALL
    SELECT
        node.kind, node.id, node.cluster_id, node.state, node.factor_ppm, coalesce(node.own_state, node.state),
        CASE WHEN server.id IS NULL THEN node.kind ELSE 'server' END, coalesce(server.id, node.id)
    FROM node
    LEFT JOIN chip ON chip.id = node.id
    LEFT JOIN nic ON nic.id = node.id
    LEFT JOIN switch ON switch.id = node.id
    LEFT JOIN server ON server.id = coalesce(chip.server_id, nic.server_id, switch.server_id) AND server.state <> 'up'
    WHERE node.state <> 'up' AND {{ maybe_unhealthy_node }}
    UNION ALL
    SELECT
        'link', link.id, a.cluster_id, link.state, link.factor_ppm, link.state,
        CASE WHEN server.id IS NOT NULL THEN 'server' ELSE coalesce(node.kind, 'link') END,
        coalesce(server.id, node.id, link.id)
    FROM link
    JOIN node AS a ON a.id = link.a_id
    LEFT JOIN node ON node.id = CASE WHEN a.state <> 'up' THEN link.a_id ELSE link.b_id END AND node.state <> 'up'
    LEFT JOIN chip ON chip.id = node.id
    LEFT JOIN nic ON nic.id = node.id
    LEFT JOIN switch ON switch.id = node.id
    LEFT JOIN server ON server.id = coalesce(chip.server_id, nic.server_id, switch.server_id) AND server.state <> 'up'
    WHERE link.state <> 'up' AND {{ maybe_unhealthy_link }}
),
part AS (
    SELECT
        unhealthy.*, cluster.slug AS cluster,
        CASE unhealthy.kind
            WHEN 'server' THEN (
                SELECT {{ server_address }} FROM server
                JOIN domain ON domain.id = server.domain_id JOIN cluster ON cluster.id = domain.cluster_id
                WHERE server.id = unhealthy.id
            )
            WHEN 'link' THEN (SELECT {{ a_address }} || '--' || {{ b_address }} FROM link WHERE link.id = unhealthy.id)
            ELSE (SELECT {{ node_address }} FROM node WHERE node.id = unhealthy.id)
        END AS address,
        (
            SELECT max(event.id + 0) FROM state_event AS event
            WHERE event.kind = unhealthy.kind AND event.part_id = unhealthy.id
            AND (unhealthy.own = 'up' AND event.before = 'up' AND event.state <> 'up'
                OR unhealthy.own <> 'up' AND coalesce(event.own_before, event.before) = 'up'
                AND coalesce(event.own_state, event.state) <> 'up')
        ) AS fault,
        (
            SELECT max(event.id + 0) FROM state_event AS event
            WHERE event.kind = unhealthy.kind AND event.part_id = unhealthy.id
            AND (unhealthy.own = 'up' AND event.before <> event.state
                OR unhealthy.own <> 'up' AND (event.own_before IS NULL AND event.own_state IS NULL
                    OR coalesce(event.own_before, event.before) <> coalesce(event.own_state, event.state)))
        ) AS latest
    FROM unhealthy
    JOIN cluster ON cluster.id = unhealthy.cluster_id
)
SELECT
    part.kind, part.address, part.cluster, part.state, CAST(part.factor_ppm AS DOUBLE PRECISION) / 1000000 AS factor,
    fault.at AS since, latest.who, latest.why, latest.source, cause.address AS cause,
    coalesce(began.batch, began.id) AS change
FROM part
JOIN part AS cause ON cause.kind = part.cause_kind AND cause.id = part.cause_id
LEFT JOIN state_event AS fault ON fault.id = part.fault
LEFT JOIN state_event AS latest ON latest.id = part.latest
LEFT JOIN state_event AS began ON began.id = cause.fault
