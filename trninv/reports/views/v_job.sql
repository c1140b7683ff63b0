SELECT
    cluster.slug AS cluster, job.name, job.system, job.external_id,
    CASE WHEN job.ended_at IS NULL THEN 'running' ELSE 'ended' END AS state,
    (SELECT count(*) FROM allocation WHERE allocation.job_id = job.id AND allocation.role = 'work'
        AND (allocation.ended_at IS NULL OR allocation.ended_at = job.ended_at)
    ) AS chips,
    (SELECT count(*) FROM allocation WHERE allocation.job_id = job.id AND allocation.role = 'spare'
        AND (allocation.ended_at IS NULL OR allocation.ended_at = job.ended_at)
    ) AS spares,
    (SELECT count(*) FROM allocation JOIN node ON node.id = allocation.chip_id
        WHERE allocation.job_id = job.id AND allocation.ended_at IS NULL AND node.state IN ('down', 'maintenance')
    ) AS failed_chips,
    job.submitted_at, coalesce(job.first_started_at, job.started_at) AS started_at, job.ended_at, job.priority,
    CASE WHEN job.pinned = 1 THEN 'yes' ELSE 'no' END AS pinned, job.who,
    coalesce(job.moved_at, CASE WHEN job.first_started_at IS NOT NULL THEN job.started_at END) AS moved_at
FROM job
JOIN cluster ON cluster.id = job.cluster_id
