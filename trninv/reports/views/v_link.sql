-- A link between two nodes, full duplex; every bandwidth is of one direction.
-- common: cluster, model, factor
-- address: `A--B`
-- domain, domain_ordinal: its domain; null between two network nodes
-- state: its own state, regardless of the states of its ends
-- a, b: addresses of its ends
-- technology: NeuronLink-v2, EFA, …
-- scope: `server`, `rack`, `domain`, `host` or `fabric`
-- lanes: PCIe lanes of one cable, if documented
-- cables: parallel cables
-- bandwidth_gb_per_s: what one direction carries **now**, given the states of the link and its ends
-- nominal_gb_per_s: what one direction carries when healthy, over all its cables
-- example: SELECT address, technology, nominal_gb_per_s FROM v_link WHERE a = 'u-trn2x64/d0/s0/c0'

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
