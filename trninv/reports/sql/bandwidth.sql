-- title: Link bandwidth
-- answers: Which kinds of links lost the largest share of their bandwidth, and what do they carry now and when healthy, in one direction?
-- parameter: cluster = '' of v_cluster.address — only this one
-- chart: gb_per_s_lost by kind
WITH condition AS ( -- of the few unhealthy links and ends of links, so that an index finds them
    SELECT id AS link_id, state, factor_ppm FROM link WHERE state <> 'up'
    UNION ALL
    SELECT link.id, node.state, node.factor_ppm FROM node JOIN link ON link.a_id = node.id WHERE node.state <> 'up'
    UNION ALL
    SELECT link.id, node.state, node.factor_ppm FROM node JOIN link ON link.b_id = node.id WHERE node.state <> 'up'
),
affected AS ( -- a link carries the least of what it and its ends do
    SELECT link_id, min(CASE state WHEN 'degraded' THEN coalesce(factor_ppm, 1000000) ELSE 0 END) AS factor_ppm
    FROM condition
    GROUP BY link_id
),
loss AS (
    SELECT
        link.link_model_id, link.scope, node.cluster_id,
        sum(CASE WHEN affected.factor_ppm = 0 THEN 1 ELSE 0 END) AS idle,
        sum(CASE WHEN affected.factor_ppm > 0 AND affected.factor_ppm < 1000000 THEN 1 ELSE 0 END) AS slower,
        sum(CAST(link.bandwidth_bytes_per_s AS DOUBLE PRECISION) * (1000000 - affected.factor_ppm) / 1000000) AS bytes_per_s
    FROM affected
    JOIN link ON link.id = affected.link_id
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
    coalesce(sum(loss.bytes_per_s), 0.0) / 1000000000 AS gb_per_s_lost,
    coalesce(sum(loss.idle), 0) AS idle, sum(link_count.unhealthy) AS unhealthy,
    (CAST(sum(link_count.bandwidth_bytes_per_s) AS DOUBLE PRECISION) - coalesce(sum(loss.bytes_per_s), 0)) / 1000000000
        AS gb_per_s_now,
    CAST(sum(link_count.bandwidth_bytes_per_s) AS DOUBLE PRECISION) / 1000000000 AS gb_per_s,
    sum(link_count.links) AS links,
    CAST(model.bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS gb_per_s_a_cable,
    sum(link_count.cables) AS cables, model.lanes, link_count.scope, model.technology,
    (SELECT dispute FROM v_fact WHERE subject = model.slug AND attribute = 'bandwidth' AND picked = 'yes')
        AS cable_disputed,
    model.slug AS model,
    round(coalesce(sum(loss.bytes_per_s), 0.0) / CAST(sum(link_count.bandwidth_bytes_per_s) AS DOUBLE PRECISION), 9) AS share_lost,
    coalesce(sum(loss.slower), 0) AS slower
FROM link_count
JOIN link_model AS model ON model.id = link_count.model_id
LEFT JOIN loss ON loss.link_model_id = link_count.model_id AND loss.scope = link_count.scope
    AND loss.cluster_id = link_count.cluster_id
WHERE :cluster = '' OR link_count.cluster_id = (SELECT id FROM cluster WHERE slug = :cluster)
GROUP BY model.technology, link_count.scope, model.slug, model.bandwidth_bytes_per_s, model.lanes
ORDER BY share_lost DESC, gb_per_s_lost DESC, unhealthy DESC, gb_per_s_a_cable DESC, model.slug, link_count.scope
