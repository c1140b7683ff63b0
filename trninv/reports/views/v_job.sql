SELECT
    cluster.slug AS cluster, job.name, job.system, job.external_id,
    CASE WHEN job.ended IS NULL THEN 'holds' ELSE 'ended' END AS state,
    (SELECT count(*) FROM allocation WHERE allocation.job_id = job.id AND allocation.role = 'work'
        AND (allocation.ended IS NULL OR allocation.ended = job.ended)
    ) AS chips,
    (SELECT count(*) FROM allocation WHERE allocation.job_id = job.id AND allocation.role = 'spare'
        AND (allocation.ended IS NULL OR allocation.ended = job.ended)
    ) AS spares,
    (SELECT count(*) FROM allocation JOIN node ON node.id = allocation.chip_id
        WHERE allocation.job_id = job.id AND allocation.ended IS NULL AND node.state IN ('down', 'maintenance')
    ) AS wounded,
    job.submitted, coalesce(job.first_began, job.began) AS began, job.ended, job.priority,
    CASE WHEN job.pinned = 1 THEN 'yes' ELSE 'no' END AS pinned, job.who,
    coalesce(job.moved, CASE WHEN job.first_began IS NOT NULL THEN job.began END) AS moved
FROM job
JOIN cluster ON cluster.id = job.cluster_id
