SELECT
    cluster.slug AS cluster,
    {{ domain_address }} AS domain, domain.ordinal AS domain_ordinal,
    {{ server_address }} AS server, server.ordinal AS server_ordinal,
    {{ rack_address }} AS rack, rack.ordinal AS rack_ordinal,
    tray.ordinal, tray.kind, tray.rack_units,
    (SELECT count(*) FROM chip WHERE chip.tray_id = tray.id) AS chips
FROM tray
JOIN server ON server.id = tray.server_id
JOIN domain ON domain.id = server.domain_id
JOIN cluster ON cluster.id = domain.cluster_id
JOIN rack ON rack.id = server.rack_id
