-- title: Link bandwidth
-- answers: What bandwidth do healthy links of each kind have in one direction, per cable and in total, and how many are unhealthy?
-- parameter: cluster = '' of v_cluster.address — only this one
-- chart: gb_per_s_a_cable by model
SELECT
    model.slug AS model, CAST(model.bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS gb_per_s_a_cable,
    CAST(sum(link_count.bandwidth_bytes_per_s) AS DOUBLE PRECISION) / 1000000000 AS gb_per_s,
    sum(link_count.number) AS links,
    sum(CASE WHEN link_count.state = 'up' THEN 0 ELSE link_count.number END) AS links_not_up,
    sum(link_count.cables) AS cables, model.lanes, link_count.scope, model.technology,
    (SELECT dispute FROM v_fact WHERE subject = model.slug AND attribute = 'bandwidth' AND picked = 'yes')
        AS cable_disputed
FROM part_count AS link_count
JOIN link_model AS model ON model.id = link_count.model_id
WHERE link_count.kind = 'link' AND link_count.number <> 0
    AND (:cluster = '' OR link_count.cluster_id = (SELECT id FROM cluster WHERE slug = :cluster))
GROUP BY model.technology, link_count.scope, model.slug, model.bandwidth_bytes_per_s, model.lanes
ORDER BY gb_per_s_a_cable DESC, model.slug, link_count.scope
