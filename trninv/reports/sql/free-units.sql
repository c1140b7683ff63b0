-- title: Racks with free units
-- answers: Which racks have units free of trays, of those whose trays all have a documented height, if a rack is as high as assumed?
-- parameter: cluster = '' of v_cluster.address — only this one
-- parameter: least = 1 — free units at least
SELECT
    address AS rack, cluster, servers, rack_units, used_rack_units, rack_units - used_rack_units AS free_rack_units
FROM v_rack
WHERE rack_units - used_rack_units >= :least AND (cluster = :cluster OR :cluster = '')
ORDER BY free_rack_units DESC, cluster, ordinal
