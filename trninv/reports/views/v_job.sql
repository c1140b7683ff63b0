-- A job that has chips, or had.
-- common: cluster
-- name: its name
-- system: what runs it; `trninv` if it was allocated here
-- external_id: its id in that system
-- state: `running` or `ended`
-- chips: chips that it runs on, or ran on when it ended
-- spares: chips in reserve for it
-- failed_chips: its chips that are down or in maintenance now
-- submitted_at: when it was submitted, if its system reports that
-- started_at: when it got its first chips; moves do not change it
-- ended_at: when it ended; null: it is running
-- priority: if its system reports one
-- pinned: `yes` if plans do not move it
-- who: who allocated it; v_event has who moved it
-- moved_at: when it last moved, by trninv or according to an import; null: never
-- example: SELECT name, chips, failed_chips FROM v_job WHERE state = 'running' ORDER BY chips DESC, name

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
