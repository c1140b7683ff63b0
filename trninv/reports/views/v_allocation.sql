SELECT
    {{ chip_address }} AS address,
    cluster.slug AS cluster,
    {{ domain_address }} AS domain, domain.ordinal AS domain_ordinal,
    {{ server_address }} AS server, server.ordinal AS server_ordinal,
    chip.ordinal, job.name AS job, job.system, job.external_id, allocation.role, allocation.started_at, allocation.ended_at,
    node.state
FROM allocation
JOIN job ON job.id = allocation.job_id
JOIN chip ON chip.id = allocation.chip_id
JOIN node ON node.id = chip.id
JOIN server ON server.id = chip.server_id
JOIN domain ON domain.id = server.domain_id
JOIN cluster ON cluster.id = domain.cluster_id
