-- A tray of a server, if a document describes the server's trays; it has no address.
-- common: cluster, domain, domain_ordinal, server, server_ordinal, rack, rack_ordinal
-- ordinal: number in the server, head trays first
-- kind: `head` or `compute`
-- rack_units: its height; null: not documented
-- chips: chips
-- example: SELECT kind, count(*) AS trays, sum(chips) AS chips FROM v_tray GROUP BY kind ORDER BY kind

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
