-- The free capacity of a scale-up domain.
-- common: address, cluster, ordinal, model
-- chips: all its chips: the sum of `allocated`, `free` and `unusable`
-- usable: chips that are up or degraded
-- allocated: allocated chips, even if they are down
-- cordoned_servers: cordoned servers
-- free: chips that the next job can get, unless they are reserved
-- unusable: chips that are not allocated and are down, in maintenance or on a cordoned server
-- free_servers: servers of which the next job can get every chip
-- example: SELECT address, chips, free, free_servers FROM v_domain_free ORDER BY address

SELECT
    address, cluster, ordinal, model, chips, usable, allocated, cordoned_servers, free, chips - allocated - free AS unusable,
    free_servers
FROM (
    SELECT
        {{ domain_address }} AS address, cluster.slug AS cluster, domain.ordinal, domain_model.slug AS model,
        domain_model.chips,
        (SELECT count(*) FROM node
            WHERE node.domain_id = domain.id AND node.kind = 'chip' AND node.state IN ('up', 'degraded')) AS usable,
        (SELECT count(*) FROM server JOIN chip ON chip.server_id = server.id
            JOIN allocation ON allocation.chip_id = chip.id AND allocation.ended_at IS NULL
            WHERE server.domain_id = domain.id) AS allocated,
        (SELECT count(*) FROM server JOIN cordon ON cordon.server_id = server.id AND cordon.ended_at IS NULL
            WHERE server.domain_id = domain.id) AS cordoned_servers,
        (SELECT count(*) FROM server JOIN chip ON chip.server_id = server.id JOIN node ON node.id = chip.id
            WHERE server.domain_id = domain.id AND {{ chip_takes_jobs }} AND NOT {{ chip_is_allocated }}) AS free,
        (SELECT count(*) FROM server WHERE server.domain_id = domain.id
            AND NOT EXISTS (SELECT 1 FROM cordon WHERE cordon.server_id = server.id AND cordon.ended_at IS NULL)
            AND NOT EXISTS (SELECT 1 FROM chip JOIN node ON node.id = chip.id WHERE chip.server_id = server.id
                AND node.state IN ('down', 'maintenance'))
            AND NOT EXISTS (SELECT 1 FROM chip JOIN allocation ON allocation.chip_id = chip.id
                AND allocation.ended_at IS NULL WHERE chip.server_id = server.id)
        ) AS free_servers
    FROM domain
    JOIN cluster ON cluster.id = domain.cluster_id
    JOIN domain_model ON domain_model.id = domain.domain_model_id
) AS domain_free
