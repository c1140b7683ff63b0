-- title: Link bandwidth
-- answers: What bandwidth do healthy links of each kind have in one direction, per cable and in total, and how many are idle now?
-- parameter: cluster = '' of v_cluster.address — only this one
-- chart: gb_per_s_a_cable by kind
WITH idle AS ( -- it or an end is down or in maintenance: from the few unhealthy parts, so that an index finds them
    SELECT link.id FROM link WHERE link.state <> 'up' AND link.state <> 'degraded'
    UNION
    SELECT link.id FROM node JOIN link ON link.a_id = node.id WHERE node.state <> 'up' AND node.state <> 'degraded'
    UNION
    SELECT link.id FROM node JOIN link ON link.b_id = node.id WHERE node.state <> 'up' AND node.state <> 'degraded'
),
idle_count AS (
    SELECT link.link_model_id, link.scope, node.cluster_id, count(*) AS number
    FROM idle
    JOIN link ON link.id = idle.id
    JOIN node ON node.id = link.a_id
    GROUP BY link.link_model_id, link.scope, node.cluster_id
),
link_count AS (
    SELECT
        model_id, scope, cluster_id, sum(number) AS links, sum(cables) AS cables,
        sum(bandwidth_bytes_per_s) AS bandwidth_bytes_per_s, sum(CASE WHEN state = 'up' THEN 0 ELSE number END) AS unhealthy
    FROM part_count
    WHERE kind = 'link' AND number <> 0
    GROUP BY model_id, scope, cluster_id
)
SELECT
    model.slug || CASE WHEN model.technology = 'EFA' THEN ', ' || link_count.scope ELSE '' END AS kind,
    CAST(model.bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS gb_per_s_a_cable,
    CAST(sum(link_count.bandwidth_bytes_per_s) AS DOUBLE PRECISION) / 1000000000 AS gb_per_s,
    sum(link_count.links) AS links, coalesce(sum(idle_count.number), 0) AS idle, sum(link_count.unhealthy) AS unhealthy,
    sum(link_count.cables) AS cables, model.lanes, link_count.scope, model.technology,
    (SELECT dispute FROM v_fact WHERE subject = model.slug AND attribute = 'bandwidth' AND picked = 'yes')
        AS cable_disputed,
    model.slug AS model
FROM link_count
JOIN link_model AS model ON model.id = link_count.model_id
LEFT JOIN idle_count ON idle_count.link_model_id = link_count.model_id AND idle_count.scope = link_count.scope
    AND idle_count.cluster_id = link_count.cluster_id
WHERE :cluster = '' OR link_count.cluster_id = (SELECT id FROM cluster WHERE slug = :cluster)
GROUP BY model.technology, link_count.scope, model.slug, model.bandwidth_bytes_per_s, model.lanes
ORDER BY gb_per_s_a_cable DESC, model.slug, link_count.scope
