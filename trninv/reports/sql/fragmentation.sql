-- title: Fragmentation
-- answers: How many jobs of each size that schedulers allow fit at once, and how many free chips can they not use?
-- parameter: cluster = '' of v_cluster.address — only this one
WITH low_bit AS ( -- the values of bits 0 to 47, to read the ordinals of a set from its mask
    SELECT 0 AS ordinal, CAST(1 AS BIGINT) AS value
    UNION ALL SELECT 1, 2 UNION ALL SELECT 2, 4 UNION ALL SELECT 3, 8
    UNION ALL SELECT 4, 16 UNION ALL SELECT 5, 32 UNION ALL SELECT 6, 64 UNION ALL SELECT 7, 128
    UNION ALL SELECT 8, 256 UNION ALL SELECT 9, 512 UNION ALL SELECT 10, 1024 UNION ALL SELECT 11, 2048
    UNION ALL SELECT 12, 4096 UNION ALL SELECT 13, 8192 UNION ALL SELECT 14, 16384 UNION ALL SELECT 15, 32768
),
bit AS (
    SELECT ordinal, value FROM low_bit
    UNION ALL SELECT ordinal + 16, value * 65536 FROM low_bit
    UNION ALL SELECT ordinal + 32, value * 4294967296 FROM low_bit
),
member AS (
    SELECT legal_set.id, bit.ordinal FROM legal_set JOIN bit ON (legal_set.mask / bit.value) % 2 = 1
),
unusable_link AS ( -- links that carry nothing, and all links of a switch that is down
    SELECT a_id, b_id FROM link WHERE state <> 'up' AND state <> 'degraded'
    UNION
    SELECT link.a_id, link.b_id FROM node JOIN link ON link.b_id = node.id
    WHERE node.state <> 'up' AND node.state <> 'degraded' AND node.kind = 'switch'
),
separated AS ( -- the chips at the ends of unusable links; for a link to a switch, next_* repeats the chip itself
    SELECT server.domain_id, server.id AS server_id, server.ordinal AS server, chip.ordinal AS chip,
        coalesce(next_server.id, server.id) AS next_server_id, coalesce(next_server.ordinal, server.ordinal) AS next_server,
        coalesce(next_chip.ordinal, chip.ordinal) AS next_chip
    FROM unusable_link
    JOIN chip ON chip.id = unusable_link.a_id
    JOIN server ON server.id = chip.server_id
    JOIN node ON node.id = unusable_link.b_id AND node.kind IN ('chip', 'switch')
    LEFT JOIN chip AS next_chip ON next_chip.id = unusable_link.b_id
    LEFT JOIN server AS next_server ON next_server.id = next_chip.server_id
),
separated_set AS ( -- legal sets that no job can use, since a link between two members is unusable
    SELECT separated.domain_id, separated.server_id, separated.next_server_id, legal_set.id
    FROM separated
    JOIN domain ON domain.id = separated.domain_id
    JOIN legal_set ON legal_set.domain_model_id = domain.domain_model_id AND legal_set.size > 1
    JOIN member ON member.id = legal_set.id
        AND member.ordinal = CASE WHEN legal_set.unit = 'chip' THEN separated.chip ELSE separated.server END
    JOIN member AS next_member ON next_member.id = legal_set.id
        AND next_member.ordinal = CASE WHEN legal_set.unit = 'chip' THEN separated.next_chip ELSE separated.next_server END
    WHERE legal_set.unit = 'server' OR separated.server_id = separated.next_server_id
),
partly_used AS ( -- servers that are not free as a whole
    SELECT chip.server_id AS id FROM node JOIN chip ON chip.id = node.id
    WHERE node.state <> 'up' AND node.state <> 'degraded'
    UNION
    SELECT chip.server_id FROM allocation JOIN chip ON chip.id = allocation.chip_id WHERE allocation.ended_at IS NULL
    UNION
    SELECT server_id FROM cordon WHERE ended_at IS NULL
    UNION
    SELECT server_id FROM separated WHERE server_id = next_server_id
),
free_server AS (
    SELECT domain.cluster_id, server.domain_id, domain.domain_model_id, server.rack_id, server.ordinal AS server, server_model.chips
    FROM server
    JOIN domain ON domain.id = server.domain_id
    JOIN server_model ON server_model.id = server.server_model_id
    WHERE server.id NOT IN (SELECT id FROM partly_used)
),
free_chip AS ( -- free chips of servers that are not free as a whole
    SELECT node.cluster_id, server.domain_id, server.id AS server_id, chip.ordinal
    FROM partly_used
    JOIN server ON server.id = partly_used.id
    JOIN chip ON chip.server_id = server.id
    JOIN node ON node.id = chip.id
    WHERE node.state IN ('up', 'degraded')
        AND NOT EXISTS (SELECT 1 FROM allocation WHERE allocation.chip_id = chip.id AND allocation.ended_at IS NULL)
        AND NOT EXISTS (SELECT 1 FROM cordon WHERE cordon.server_id = server.id AND cordon.ended_at IS NULL)
),
fitting AS ( -- for each legal set, the number of places where it is free
    SELECT free_count.cluster_id, legal_set.id, free_count.servers AS fits
    FROM (
        SELECT cluster_id, domain_model_id, count(*) AS servers FROM free_server GROUP BY cluster_id, domain_model_id
    ) AS free_count
    JOIN legal_set ON legal_set.domain_model_id = free_count.domain_model_id
    WHERE legal_set.unit = 'chip' AND legal_set.mask IS NOT NULL
    UNION ALL
    SELECT free_chip.cluster_id, legal_set.id, 1
    FROM free_chip
    JOIN domain ON domain.id = free_chip.domain_id
    JOIN legal_set ON legal_set.domain_model_id = domain.domain_model_id AND legal_set.unit = 'chip'
    JOIN member ON member.id = legal_set.id AND member.ordinal = free_chip.ordinal
    WHERE NOT EXISTS (SELECT 1 FROM separated_set
        WHERE separated_set.server_id = free_chip.server_id AND separated_set.id = legal_set.id)
    GROUP BY free_chip.cluster_id, free_chip.server_id, legal_set.id, legal_set.size
    HAVING count(*) = legal_set.size
    UNION ALL
    SELECT free_server.cluster_id, legal_set.id, 1
    FROM free_server
    JOIN legal_set ON legal_set.domain_model_id = free_server.domain_model_id AND legal_set.unit = 'server'
    JOIN member ON member.id = legal_set.id AND member.ordinal = free_server.server
    WHERE NOT EXISTS (SELECT 1 FROM separated_set
        WHERE separated_set.domain_id = free_server.domain_id AND separated_set.id = legal_set.id)
    GROUP BY free_server.cluster_id, free_server.domain_id, legal_set.id, legal_set.size
    HAVING count(*) = legal_set.size
    UNION ALL
    SELECT free_server.cluster_id, legal_set.id, count(*) / legal_set.size
    FROM free_server
    JOIN legal_set ON legal_set.domain_model_id = free_server.domain_model_id AND legal_set.mask IS NULL
    GROUP BY free_server.cluster_id, free_server.domain_id, free_server.rack_id, legal_set.id, legal_set.size
),
set_size AS ( -- the legal sets of each cluster with their number of chips
    SELECT cluster.id AS cluster_id, legal_set.id, legal_set.unit,
        CASE WHEN legal_set.unit = 'chip' THEN legal_set.size
            ELSE legal_set.size * domain_model.chips / domain_model.servers END AS chips
    FROM cluster
    JOIN domain_model ON domain_model.id = cluster.domain_model_id
    JOIN legal_set ON legal_set.domain_model_id = domain_model.id
),
fits_by_unit AS (
    SELECT set_size.cluster_id, set_size.chips, set_size.unit, coalesce(sum(fitting.fits), 0) AS fits
    FROM set_size
    LEFT JOIN fitting ON fitting.id = set_size.id AND fitting.cluster_id = set_size.cluster_id
    GROUP BY set_size.cluster_id, set_size.chips, set_size.unit
),
best AS (
    SELECT cluster_id, chips, max(fits) AS fits FROM fits_by_unit GROUP BY cluster_id, chips
),
free AS (
    SELECT cluster_id, CAST(sum(chips) AS BIGINT) AS chips
    FROM (
        SELECT cluster_id, 1 AS chips FROM free_chip
        UNION ALL
        SELECT cluster_id, chips FROM free_server
    ) AS free_part
    GROUP BY cluster_id
)
SELECT cluster.slug AS cluster, best.chips AS jobs_of, best.fits AS fit_at_once,
    coalesce(free.chips, 0) - best.chips * best.fits AS stranded_chips, coalesce(free.chips, 0) AS free_chips
FROM best
JOIN cluster ON cluster.id = best.cluster_id
LEFT JOIN free ON free.cluster_id = best.cluster_id
WHERE cluster.slug = :cluster OR :cluster = ''
ORDER BY cluster.slug, best.chips
