-- title: Free rack units
-- answers: Which racks have free rack units, where the height of every tray is documented?
-- parameter: cluster = '' of v_cluster.address — only this one
-- parameter: least = 1 — least number of free units
SELECT
    address AS rack, rack_units - used_rack_units AS free_rack_units, used_rack_units, rack_units, servers, cluster
FROM v_rack
WHERE rack_units - used_rack_units >= :least AND (cluster = :cluster OR :cluster = '')
ORDER BY free_rack_units DESC, cluster, ordinal
