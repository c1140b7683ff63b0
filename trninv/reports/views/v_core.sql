SELECT
    {{ core_address }} AS address,
    cluster.slug AS cluster,
    {{ domain_address }} AS domain, domain.ordinal AS domain_ordinal,
    {{ server_address }} AS server, server.ordinal AS server_ordinal,
    {{ rack_address }} AS rack, rack.ordinal AS rack_ordinal,
    {{ chip_address }} AS chip, chip.ordinal AS chip_ordinal,
    core.ordinal, chip_model.core_model AS model, chip_model.generation, node.state AS chip_state
FROM core
JOIN chip ON chip.id = core.chip_id
JOIN node ON node.id = chip.id
JOIN server ON server.id = chip.server_id
JOIN domain ON domain.id = server.domain_id
JOIN cluster ON cluster.id = domain.cluster_id
JOIN rack ON rack.id = server.rack_id
JOIN chip_model ON chip_model.id = chip.chip_model_id
