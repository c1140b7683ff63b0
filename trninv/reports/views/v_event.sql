SELECT
    address, at, lead(at) OVER (PARTITION BY address ORDER BY id) AS until, who, why,
    state_event.before, CAST(factor_ppm_before AS DOUBLE PRECISION) / 1000000 AS factor_before,
    state, CAST(factor_ppm AS DOUBLE PRECISION) / 1000000 AS factor,
    id AS event, batch, source, kind
FROM state_event
