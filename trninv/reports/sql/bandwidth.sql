-- title: Bandwidth by link technology and scope
-- answers: What bandwidth do the links of each kind have in one direction when healthy, per cable and in total, how many are there, and how many are themselves unhealthy?
-- parameter: cluster = '' of v_cluster.address — only this one
-- chart: gb_per_s_a_cable by model
SELECT
    model.technology, made.scope, model.slug AS model,
    CAST(model.bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS gb_per_s_a_cable, model.lanes,
    sum(made.links) AS links, sum(made.links * made.cables) AS cables,
    CAST(sum(made.links * made.bandwidth_bytes_per_s) AS DOUBLE PRECISION) / 1000000000 AS gb_per_s,
    sum(CASE WHEN made.state = 'up' THEN 0 ELSE made.links END) AS links_not_up,
    (SELECT dispute FROM v_fact WHERE subject = model.slug AND attribute = 'bandwidth' AND picked = 'yes')
        AS cable_disputed
FROM (
    -- as in ix_link_kind, and of a cluster by its block of ids: one look at each link, and none at its ends
    SELECT link_model_id, state, scope, bandwidth_bytes_per_s, cables, count(*) AS links
    FROM link
    WHERE :cluster = '' OR (
        id >= (SELECT first_link_id FROM cluster WHERE slug = :cluster)
        AND id < coalesce((
            SELECT min(later.first_link_id) FROM cluster AS later
            JOIN cluster AS own ON later.first_link_id > own.first_link_id WHERE own.slug = :cluster
        ), 2147483648)
    )
    GROUP BY link_model_id, state, scope, bandwidth_bytes_per_s, cables
) AS made
JOIN link_model AS model ON model.id = made.link_model_id
GROUP BY model.technology, made.scope, model.slug, model.bandwidth_bytes_per_s, model.lanes
ORDER BY model.technology, made.scope, model.slug
