SELECT
    a || '--' || b AS address, cluster, domain, domain_ordinal, a, b, technology, scope, lanes, cables,
    bandwidth_gb_per_s, nominal_gb_per_s, model, state, factor
FROM (
    SELECT
        {{ a_address }} AS a,
        {{ b_address }} AS b,
        cluster.slug AS cluster, {{ domain_address }} AS domain, domain.ordinal AS domain_ordinal,
        link.technology, link.scope, link.lanes, link.cables,
        CAST({{ carried }} AS DOUBLE PRECISION) / 1000000000 AS bandwidth_gb_per_s,
        CAST(link.bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS nominal_gb_per_s,
        link_model.slug AS model, link.state, CAST(link.factor_ppm AS DOUBLE PRECISION) / 1000000 AS factor
    FROM link
    JOIN node AS end_a ON end_a.id = link.a_id
    JOIN node AS end_b ON end_b.id = link.b_id
    JOIN link_model ON link_model.id = link.link_model_id
    JOIN domain ON domain.id = link.domain_id
    JOIN cluster ON cluster.id = domain.cluster_id
    UNION ALL -- links of the fabric, apart: so a condition on the cluster or the domain finds either by an index
    SELECT
        {{ a_address }},
        {{ b_address }},
        cluster.slug, NULL, NULL,
        link.technology, link.scope, link.lanes, link.cables,
        CAST({{ carried }} AS DOUBLE PRECISION) / 1000000000,
        CAST(link.bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000,
        link_model.slug, link.state, CAST(link.factor_ppm AS DOUBLE PRECISION) / 1000000
    FROM link
    JOIN node AS end_a ON end_a.id = link.a_id
    JOIN node AS end_b ON end_b.id = link.b_id
    JOIN link_model ON link_model.id = link.link_model_id
    JOIN cluster ON cluster.id = end_a.cluster_id
    WHERE link.domain_id IS NULL
) AS joined
