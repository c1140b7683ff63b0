-- title: Racks with free units
-- answers: Which racks have room, as far as the heights of trays are documented?
-- parameter: cluster = '' — only this one
-- parameter: least = 1 — free units at least
SELECT
    address AS rack, cluster, servers, rack_units, used_rack_units, rack_units - used_rack_units AS free_rack_units
FROM v_rack
WHERE rack_units - used_rack_units >= :least AND (cluster = :cluster OR :cluster = '')
ORDER BY free_rack_units DESC, cluster, ordinal
