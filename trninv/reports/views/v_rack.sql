SELECT
    {{ rack_address }} AS address, cluster.slug AS cluster, rack.ordinal, rack.rack_units,
    (SELECT count(*) FROM server WHERE server.rack_id = rack.id) AS servers,
    (SELECT CASE WHEN count(*) = count(tray.rack_units) AND count(*) > 0 THEN sum(tray.rack_units) END
        FROM server LEFT JOIN tray ON tray.server_id = server.id WHERE server.rack_id = rack.id) AS used_rack_units
FROM rack
JOIN cluster ON cluster.id = rack.cluster_id
