-- A rack.
-- common: address, cluster, ordinal
-- rack_units: height of the rack; assumed, because no document gives it
-- servers: servers
-- used_rack_units: height of the trays in it; null if any height is not documented
-- example: SELECT address, servers, rack_units - used_rack_units AS free FROM v_rack WHERE used_rack_units IS NOT NULL

SELECT
    {{ rack_address }} AS address, cluster.slug AS cluster, rack.ordinal, rack.rack_units,
    (SELECT count(*) FROM server WHERE server.rack_id = rack.id) AS servers,
    (SELECT CASE WHEN count(*) = count(tray.rack_units) AND count(*) > 0 THEN sum(tray.rack_units) END
        FROM server LEFT JOIN tray ON tray.server_id = server.id WHERE server.rack_id = rack.id) AS used_rack_units
FROM rack
JOIN cluster ON cluster.id = rack.cluster_id
