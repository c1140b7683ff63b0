-- A NeuronLink scale-up domain.
-- common: address, cluster, ordinal, model
-- model_slug: the model's slug, which is the subject of its facts
-- wiring: the pattern in which its chips are wired (`trninv/topology/patterns`)
-- sides: sides of the torus, such as `4x4x4`; empty if it is not a torus
-- servers: servers, in any state
-- chips: chips, in any state
-- hbm_gib: HBM of all chips, 2³⁰ bytes
-- example: SELECT address, model, chips, hbm_gib FROM v_domain WHERE cluster = 'u-trn2x64'

SELECT
    {{ domain_address }} AS address, cluster.slug AS cluster, domain.ordinal, domain_model.name AS model,
    domain_model.slug AS model_slug, domain_model.wiring, domain_model.sides, domain_model.servers, domain_model.chips,
    CAST(domain_model.chips AS BIGINT) * chip_model.device_memory_bytes / 1073741824 AS hbm_gib
FROM domain
JOIN cluster ON cluster.id = domain.cluster_id
JOIN domain_model ON domain_model.id = domain.domain_model_id
JOIN server_model ON server_model.id = domain_model.server_model_id
JOIN chip_model ON chip_model.id = server_model.chip_model_id
