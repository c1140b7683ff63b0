SELECT
    finding.severity, finding.rule, finding.address, finding.instance, finding.expected, finding.observed, finding.evidence,
    finding.first_seen, finding.last_seen, finding.cleared_at
FROM finding
