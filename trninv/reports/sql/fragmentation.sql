-- title: Free chips that jobs cannot use
-- answers: How many jobs of each size that schedulers allow fit at once, and how many free chips can they not use (trninv fragmentation says why)?
-- parameter: cluster = '' of v_cluster.address — only this one
WITH low AS (
    SELECT 0 AS ordinal, CAST(1 AS BIGINT) AS value
    UNION ALL SELECT 1, 2 UNION ALL SELECT 2, 4 UNION ALL SELECT 3, 8
    UNION ALL SELECT 4, 16 UNION ALL SELECT 5, 32 UNION ALL SELECT 6, 64 UNION ALL SELECT 7, 128
    UNION ALL SELECT 8, 256 UNION ALL SELECT 9, 512 UNION ALL SELECT 10, 1024 UNION ALL SELECT 11, 2048
    UNION ALL SELECT 12, 4096 UNION ALL SELECT 13, 8192 UNION ALL SELECT 14, 16384 UNION ALL SELECT 15, 32768
),
bit AS (
    SELECT ordinal, value FROM low
    UNION ALL SELECT ordinal + 16, value * 65536 FROM low
    UNION ALL SELECT ordinal + 32, value * 4294967296 FROM low
),
member AS (
    SELECT legal_set.id, bit.ordinal FROM legal_set JOIN bit ON (legal_set.mask / bit.value) % 2 = 1
),
cut AS (
    SELECT a_id, b_id FROM link WHERE state <> 'up' AND state <> 'degraded'
    UNION
    SELECT link.a_id, link.b_id FROM node JOIN link ON link.b_id = node.id
    WHERE node.state <> 'up' AND node.state <> 'degraded' AND node.kind = 'switch'
),
parted AS (
    SELECT server.domain_id, server.id AS server_id, server.ordinal AS server, chip.ordinal AS chip,
        coalesce(next_server.id, server.id) AS next_server_id, coalesce(next_server.ordinal, server.ordinal) AS next_server,
        coalesce(next_chip.ordinal, chip.ordinal) AS next_chip
    FROM cut
    JOIN chip ON chip.id = cut.a_id
    JOIN server ON server.id = chip.server_id
    JOIN node ON node.id = cut.b_id AND node.kind IN ('chip', 'switch')
    LEFT JOIN chip AS next_chip ON next_chip.id = cut.b_id
    LEFT JOIN server AS next_server ON next_server.id = next_chip.server_id
),
parted_set AS (
    SELECT parted.domain_id, parted.server_id, parted.next_server_id, legal_set.id
    FROM parted
    JOIN domain ON domain.id = parted.domain_id
    JOIN legal_set ON legal_set.domain_model_id = domain.domain_model_id AND legal_set.size > 1
    JOIN member ON member.id = legal_set.id
        AND member.ordinal = CASE WHEN legal_set.unit = 'chip' THEN parted.chip ELSE parted.server END
    JOIN member AS next_member ON next_member.id = legal_set.id
        AND next_member.ordinal = CASE WHEN legal_set.unit = 'chip' THEN parted.next_chip ELSE parted.next_server END
    WHERE legal_set.unit = 'server' OR parted.server_id = parted.next_server_id
),
busy AS (
    SELECT chip.server_id AS id FROM node JOIN chip ON chip.id = node.id
    WHERE node.state <> 'up' AND node.state <> 'degraded'
    UNION
    SELECT chip.server_id FROM allocation JOIN chip ON chip.id = allocation.chip_id WHERE allocation.ended_at IS NULL
    UNION
    SELECT server_id FROM cordon WHERE ended_at IS NULL
    UNION
    SELECT server_id FROM parted WHERE server_id = next_server_id
),
free_server AS (
    SELECT domain.cluster_id, server.domain_id, domain.domain_model_id, server.rack_id, server.ordinal AS server, server_model.chips
    FROM server
    JOIN domain ON domain.id = server.domain_id
    JOIN server_model ON server_model.id = server.server_model_id
    WHERE server.id NOT IN (SELECT id FROM busy)
),
free_chip AS (
    SELECT node.cluster_id, server.domain_id, server.id AS server_id, chip.ordinal
    FROM busy
    JOIN server ON server.id = busy.id
    JOIN chip ON chip.server_id = server.id
    JOIN node ON node.id = chip.id
    WHERE node.state IN ('up', 'degraded')
        AND NOT EXISTS (SELECT 1 FROM allocation WHERE allocation.chip_id = chip.id AND allocation.ended_at IS NULL)
        AND NOT EXISTS (SELECT 1 FROM cordon WHERE cordon.server_id = server.id AND cordon.ended_at IS NULL)
),
found AS (
    SELECT whole.cluster_id, legal_set.id, whole.servers AS fits
    FROM (
        SELECT cluster_id, domain_model_id, count(*) AS servers FROM free_server GROUP BY cluster_id, domain_model_id
    ) AS whole
    JOIN legal_set ON legal_set.domain_model_id = whole.domain_model_id
    WHERE legal_set.unit = 'chip' AND legal_set.mask IS NOT NULL
    UNION ALL
    SELECT free_chip.cluster_id, legal_set.id, 1
    FROM free_chip
    JOIN domain ON domain.id = free_chip.domain_id
    JOIN legal_set ON legal_set.domain_model_id = domain.domain_model_id AND legal_set.unit = 'chip'
    JOIN member ON member.id = legal_set.id AND member.ordinal = free_chip.ordinal
    WHERE NOT EXISTS (SELECT 1 FROM parted_set
        WHERE parted_set.server_id = free_chip.server_id AND parted_set.id = legal_set.id)
    GROUP BY free_chip.cluster_id, free_chip.server_id, legal_set.id, legal_set.size
    HAVING count(*) = legal_set.size
    UNION ALL
    SELECT free_server.cluster_id, legal_set.id, 1
    FROM free_server
    JOIN legal_set ON legal_set.domain_model_id = free_server.domain_model_id AND legal_set.unit = 'server'
    JOIN member ON member.id = legal_set.id AND member.ordinal = free_server.server
    WHERE NOT EXISTS (SELECT 1 FROM parted_set
        WHERE parted_set.domain_id = free_server.domain_id AND parted_set.id = legal_set.id)
    GROUP BY free_server.cluster_id, free_server.domain_id, legal_set.id, legal_set.size
    HAVING count(*) = legal_set.size
    UNION ALL
    SELECT free_server.cluster_id, legal_set.id, count(*) / legal_set.size
    FROM free_server
    JOIN legal_set ON legal_set.domain_model_id = free_server.domain_model_id AND legal_set.mask IS NULL
    GROUP BY free_server.cluster_id, free_server.domain_id, free_server.rack_id, legal_set.id, legal_set.size
),
granted AS (
    SELECT cluster.id AS cluster_id, legal_set.id, legal_set.unit,
        CASE WHEN legal_set.unit = 'chip' THEN legal_set.size
            ELSE legal_set.size * domain_model.chips / domain_model.servers END AS chips
    FROM cluster
    JOIN domain_model ON domain_model.id = cluster.domain_model_id
    JOIN legal_set ON legal_set.domain_model_id = domain_model.id
),
counted AS (
    SELECT granted.cluster_id, granted.chips, granted.unit, coalesce(sum(found.fits), 0) AS fits
    FROM granted
    LEFT JOIN found ON found.id = granted.id AND found.cluster_id = granted.cluster_id
    GROUP BY granted.cluster_id, granted.chips, granted.unit
),
best AS (
    SELECT cluster_id, chips, max(fits) AS fits FROM counted GROUP BY cluster_id, chips
),
free AS (
    SELECT cluster_id, CAST(sum(chips) AS BIGINT) AS chips
    FROM (
        SELECT cluster_id, 1 AS chips FROM free_chip
        UNION ALL
        SELECT cluster_id, chips FROM free_server
    ) AS each_of
    GROUP BY cluster_id
)
SELECT cluster.slug AS cluster, best.chips AS jobs_of, best.fits AS fit_at_once, coalesce(free.chips, 0) AS free_chips,
    coalesce(free.chips, 0) - best.chips * best.fits AS stranded_chips
FROM best
JOIN cluster ON cluster.id = best.cluster_id
LEFT JOIN free ON free.cluster_id = best.cluster_id
WHERE cluster.slug = :cluster OR :cluster = ''
ORDER BY cluster.slug, best.chips
