// Examples of the Query page. A test runs each of them, on databases of any content.

export type Language = "sql" | "cypher";

export interface Example {
  name: string;
  text: string;
}

export const EXAMPLES: Record<Language, Example[]> = {
  sql: [
    {
      name: "Clusters by size",
      text: "SELECT address, chips, servers, domains, system\nFROM v_cluster\nORDER BY chips DESC, address",
    },
    {
      name: "Unhealthy parts by change",
      text: `SELECT change, min(since) AS since, min(why) AS why, count(*) AS parts
FROM v_unhealthy
GROUP BY change
ORDER BY parts DESC, change`,
    },
    {
      name: "Free chips by cluster",
      text: `SELECT cluster, count(*) AS free_chips, sum(CASE WHEN state = 'degraded' THEN 1 ELSE 0 END) AS degraded
FROM v_free_chip
GROUP BY cluster
ORDER BY free_chips DESC, cluster`,
    },
    {
      name: "Jobs and their failed chips",
      text: `SELECT name AS job, cluster, chips, failed_chips, started_at
FROM v_job
WHERE state = 'running'
ORDER BY failed_chips DESC, chips DESC, job`,
    },
    {
      name: "Down for more than a week",
      text: `SELECT address, at AS since, who, why
FROM v_event
WHERE state = 'down' AND until IS NULL AND at < now() - INTERVAL '7 days'
ORDER BY at`,
    },
    {
      name: "Open findings of drift",
      text: `SELECT severity, rule, address, instance, expected, observed, first_seen
FROM v_drift
WHERE cleared_at IS NULL
ORDER BY CASE severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END, first_seen, address`,
    },
    {
      name: "Bandwidth, now and healthy",
      text: `SELECT cluster, technology, count(*) AS links, sum(bandwidth_gb_per_s) AS now_gb_per_s,
    sum(nominal_gb_per_s) AS healthy_gb_per_s
FROM v_link
GROUP BY cluster, technology
ORDER BY cluster, technology`,
    },
  ],
  cypher: [
    {
      name: "Chips by cluster and state",
      text: "MATCH (c:Chip)\nRETURN c.cluster AS cluster, c.state AS state, count(*) AS chips\nORDER BY cluster, state",
    },
    {
      name: "Neighbors of failed chips",
      text: `MATCH (c:Chip)-[l:SCALE_UP]-(o:Chip)
WHERE c.state = 'down' AND o.state = 'up'
RETURN c.address AS down, o.address AS neighbor, l.technology AS technology
ORDER BY down, neighbor
LIMIT 100`,
    },
    {
      name: "Jobs next to a failed chip",
      text: `MATCH (j:Job)-[:ALLOCATED]->(c:Chip)-[:SCALE_UP]-(o:Chip)
WHERE o.state = 'down'
RETURN DISTINCT j.name AS job, c.address AS chip, o.address AS down
ORDER BY job, chip
LIMIT 100`,
    },
    {
      name: "Jobs that share a rack",
      text: `MATCH (j:Job)-[:ALLOCATED]->(c:Chip), (k:Job)-[:ALLOCATED]->(d:Chip)
WHERE c.rack = d.rack AND j.name < k.name
RETURN DISTINCT c.rack AS rack, j.name AS job, k.name AS neighbor
ORDER BY rack, job, neighbor`,
    },
    {
      name: "Servers without an instance",
      text: `MATCH (s:Server)
WHERE NOT EXISTS { MATCH (:Instance)-[:RUNS_ON]->(s) }
RETURN s.cluster AS cluster, count(*) AS servers
ORDER BY cluster`,
    },
    {
      name: "Chips within three hops",
      text: `MATCH (a:Chip)
WITH a ORDER BY a.address LIMIT 1
MATCH (a)-[l:SCALE_UP* SHORTEST 1..3]-(b:Chip)
RETURN a.address AS from_chip, length(l) AS hops, count(DISTINCT b.address) AS chips
ORDER BY hops`,
    },
  ],
};
