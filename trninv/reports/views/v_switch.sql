SELECT
    {{ switch_address }} AS address,
    cluster.slug AS cluster,
    {{ domain_address }} AS domain, domain.ordinal AS domain_ordinal,
    {{ rack_address }} AS rack, rack.ordinal AS rack_ordinal,
    switch.ordinal, switch_model.name AS model, node.state, CAST(node.factor_ppm AS DOUBLE PRECISION) / 1000000 AS factor
FROM switch
JOIN node ON node.id = switch.id
JOIN domain ON domain.id = node.domain_id
JOIN cluster ON cluster.id = domain.cluster_id
JOIN rack ON rack.id = switch.rack_id
LEFT JOIN switch_model ON switch_model.id = switch.switch_model_id
