-- title: Bandwidth by link technology and scope
-- answers: What do links of each kind carry in one direction when healthy, each cable and all together, how many are there, and how many are themselves not up?
-- parameter: cluster = '' of v_cluster.address — only this one
SELECT
    link.technology, link.scope, model.slug AS model,
    CAST(model.bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS gb_per_s_a_cable, model.lanes,
    count(*) AS links, sum(link.cables) AS cables,
    CAST(sum(link.bandwidth_bytes_per_s) AS DOUBLE PRECISION) / 1000000000 AS gb_per_s,
    sum(CASE WHEN link.state = 'up' THEN 0 ELSE 1 END) AS links_not_up,
    (SELECT dispute FROM v_fact WHERE subject = model.slug AND attribute = 'bandwidth' AND picked = 'yes')
        AS cable_disputed
FROM link
JOIN link_model AS model ON model.id = link.link_model_id
JOIN node ON node.id = link.a_id
JOIN cluster ON cluster.id = node.cluster_id
WHERE cluster.slug = :cluster OR :cluster = ''
GROUP BY link.technology, link.scope, model.slug, model.bandwidth_bytes_per_s, model.lanes
ORDER BY link.technology, link.scope, model.slug
