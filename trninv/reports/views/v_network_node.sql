SELECT
    {{ network_node_address }} AS address, cluster.slug AS cluster, network_node.tier, network_node.ordinal,
    network_node.vendor_id,
    node.state, CAST(node.factor_ppm AS DOUBLE PRECISION) / 1000000 AS factor
FROM network_node
JOIN node ON node.id = network_node.id
JOIN cluster ON cluster.id = node.cluster_id
