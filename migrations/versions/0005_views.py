"""Views for reports: one row per thing, addresses in words, units in the names; the same SQL on both databases.

Revision ID: 0005
Revises: 0004
"""

from alembic import op

revision = "0005"
down_revision = "0004"

GIB = 2**30

_SERVER = "cluster.slug || '/d' || domain.ordinal || '/s' || server.ordinal"
_DOMAIN = "cluster.slug || '/d' || domain.ordinal"
_ON_SERVER = """
JOIN domain ON domain.id = server.domain_id
JOIN cluster ON cluster.id = domain.cluster_id
JOIN rack ON rack.id = server.rack_id
"""
_IN_DOMAIN = f"cluster.slug AS cluster, {_DOMAIN} AS domain, domain.ordinal AS domain_ordinal"
_IN_RACK = "cluster.slug || '/r' || rack.ordinal AS rack, rack.ordinal AS rack_ordinal"
_PLACE = f"{_IN_DOMAIN}, {_SERVER} AS server, server.ordinal AS server_ordinal, {_IN_RACK}"
_CONDITION = "state, CAST({0}.factor_ppm AS DOUBLE PRECISION) / 1000000 AS factor"


def _tflops(*kinds: str) -> str:
    return ",\n    ".join(f"CAST(chip_model.{of}_gflops AS DOUBLE PRECISION) / 1000 AS {of}_tflops" for of in kinds)


def _address(end: str) -> str:
    """The address of a link's end, according to its kind."""
    on_server = f"""FROM {{0}} JOIN server ON server.id = {{0}}.server_id JOIN domain ON domain.id = server.domain_id
            JOIN cluster ON cluster.id = domain.cluster_id WHERE {{0}}.id = {end}.id)"""
    return f"""CASE {end}.kind
        WHEN 'chip' THEN (SELECT {_SERVER} || '/c' || chip.ordinal {on_server.format("chip")}
        WHEN 'nic' THEN (SELECT {_SERVER} || '/efa' || nic.ordinal {on_server.format("nic")}
        WHEN 'switch' THEN (SELECT {_DOMAIN} || '/sw' || switch.ordinal FROM switch
            JOIN domain ON domain.id = {end}.domain_id JOIN cluster ON cluster.id = domain.cluster_id
            WHERE switch.id = {end}.id)
        ELSE (SELECT cluster.slug || '/fabric/t' || network_node.tier || '/n' || network_node.ordinal FROM network_node
            JOIN cluster ON cluster.id = {end}.cluster_id WHERE network_node.id = {end}.id) END"""


def _carries(table: str) -> str:
    return f"""CASE WHEN {table}.state = 'up' THEN 1000000 WHEN {table}.state = 'degraded' THEN {table}.factor_ppm
        ELSE 0 END"""


_LEAST = """CASE WHEN own <= one AND own <= other THEN own WHEN one <= other THEN one ELSE other END"""

_LINK = f"""
        {_address("end_a")} AS a,
        {_address("end_b")} AS b,
        cluster.slug AS cluster, link.technology, link.scope, link.lanes, link.cables,
        link.bandwidth_bytes_per_s AS nominal, link_model.slug AS model, link.state, link.factor_ppm,
        {_carries("link")} AS own, {_carries("end_a")} AS one, {_carries("end_b")} AS other"""
_ENDS = """
    JOIN node AS end_a ON end_a.id = link.a_id
    JOIN node AS end_b ON end_b.id = link.b_id
    JOIN link_model ON link_model.id = link.link_model_id"""

VIEWS = {
    "v_cluster": f"""
SELECT
    cluster.slug AS address, cluster.system, domain_model.name AS model, chip_model.generation, domain_model.wiring,
    cluster.domains,
    cluster.domains * domain_model.servers AS servers,
    cluster.domains * domain_model.chips AS chips,
    CAST(cluster.domains AS BIGINT) * domain_model.chips * chip_model.device_memory_bytes / {GIB} AS hbm_gib,
    CAST(cluster.domains AS BIGINT) * domain_model.chips * chip_model.bf16_gflops / 1000 AS bf16_tflops
FROM cluster
JOIN domain_model ON domain_model.id = cluster.domain_model_id
JOIN server_model ON server_model.id = domain_model.server_model_id
JOIN chip_model ON chip_model.id = server_model.chip_model_id""",
    "v_domain": f"""
SELECT
    {_DOMAIN} AS address, cluster.slug AS cluster, domain.ordinal, domain_model.name AS model,
    domain_model.slug AS model_slug, domain_model.wiring, domain_model.sides, domain_model.servers, domain_model.chips,
    CAST(domain_model.chips AS BIGINT) * chip_model.device_memory_bytes / {GIB} AS hbm_gib
FROM domain
JOIN cluster ON cluster.id = domain.cluster_id
JOIN domain_model ON domain_model.id = domain.domain_model_id
JOIN server_model ON server_model.id = domain_model.server_model_id
JOIN chip_model ON chip_model.id = server_model.chip_model_id""",
    "v_rack": """
SELECT
    cluster.slug || '/r' || rack.ordinal AS address, cluster.slug AS cluster, rack.ordinal, rack.rack_units,
    (SELECT count(*) FROM server WHERE server.rack_id = rack.id) AS servers,
    (SELECT CASE WHEN count(*) = count(tray.rack_units) AND count(*) > 0 THEN sum(tray.rack_units) END
        FROM server LEFT JOIN tray ON tray.server_id = server.id WHERE server.rack_id = rack.id) AS used_rack_units
FROM rack
JOIN cluster ON cluster.id = rack.cluster_id""",
    "v_server": f"""
SELECT
    {_SERVER} AS address, {_IN_DOMAIN}, {_IN_RACK},
    server.ordinal, server_model.slug AS model, chip_model.generation, server_model.chips, server_model.vcpus,
    server_model.host_memory_bytes / {GIB} AS host_memory_gib, server.{_CONDITION.format("server")}
FROM server {_ON_SERVER}
JOIN server_model ON server_model.id = server.server_model_id
JOIN chip_model ON chip_model.id = server_model.chip_model_id""",
    "v_chip": f"""
SELECT
    {_SERVER} || '/c' || chip.ordinal AS address, {_PLACE},
    chip.ordinal, tray.ordinal AS tray, chip_model.slug AS model, chip_model.generation, chip_model.cores,
    chip_model.device_memory_bytes / {GIB} AS hbm_gib,
    CAST(chip_model.device_memory_bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS hbm_gb_per_s,
    {_tflops("mxfp8", "fp8", "bf16", "fp32", "sparse")},
    node.{_CONDITION.format("node")}
FROM chip
JOIN node ON node.id = chip.id
JOIN server ON server.id = chip.server_id {_ON_SERVER}
JOIN chip_model ON chip_model.id = chip.chip_model_id
LEFT JOIN tray ON tray.id = chip.tray_id""",
    "v_core": f"""
SELECT
    {_SERVER} || '/c' || chip.ordinal || '/nc' || core.ordinal AS address, {_PLACE},
    {_SERVER} || '/c' || chip.ordinal AS chip, chip.ordinal AS chip_ordinal, core.ordinal,
    chip_model.core_model AS model, chip_model.generation, node.state AS chip_state
FROM core
JOIN chip ON chip.id = core.chip_id
JOIN node ON node.id = chip.id
JOIN server ON server.id = chip.server_id {_ON_SERVER}
JOIN chip_model ON chip_model.id = chip.chip_model_id""",
    "v_nic": f"""
SELECT
    {_SERVER} || '/efa' || nic.ordinal AS address, {_PLACE}, nic.ordinal,
    CAST(nic.bandwidth_bytes_per_s AS DOUBLE PRECISION) / 1000000000 AS bandwidth_gb_per_s,
    node.{_CONDITION.format("node")}
FROM nic
JOIN node ON node.id = nic.id
JOIN server ON server.id = nic.server_id {_ON_SERVER}""",
    "v_switch": f"""
SELECT
    {_DOMAIN} || '/sw' || switch.ordinal AS address, cluster.slug AS cluster, {_DOMAIN} AS domain,
    domain.ordinal AS domain_ordinal, cluster.slug || '/r' || rack.ordinal AS rack, rack.ordinal AS rack_ordinal,
    switch.ordinal, node.{_CONDITION.format("node")}
FROM switch
JOIN node ON node.id = switch.id
JOIN domain ON domain.id = node.domain_id
JOIN cluster ON cluster.id = domain.cluster_id
JOIN rack ON rack.id = switch.rack_id""",
    "v_link": f"""
SELECT
    a || '--' || b AS address, cluster, domain, domain_ordinal, a, b, technology, scope, lanes, cables,
    CASE WHEN {_LEAST} = 1000000 THEN nominal
        ELSE nominal / 1000000 * {_LEAST} + nominal % 1000000 * {_LEAST} / 1000000 END AS bandwidth_bytes_per_s,
    CAST(nominal AS DOUBLE PRECISION) / 1000000000 AS nominal_gb_per_s, model, state,
    CAST(factor_ppm AS DOUBLE PRECISION) / 1000000 AS factor
FROM (
    SELECT {_LINK}, {_DOMAIN} AS domain, domain.ordinal AS domain_ordinal
    FROM link {_ENDS}
    JOIN domain ON domain.id = link.domain_id
    JOIN cluster ON cluster.id = domain.cluster_id
    UNION ALL
    SELECT {_LINK}, NULL AS domain, NULL AS domain_ordinal
    FROM link {_ENDS}
    JOIN cluster ON cluster.id = end_a.cluster_id
    WHERE link.domain_id IS NULL
) AS joined""",
    "v_fact": """
SELECT
    fact.subject, fact.attribute, fact.shown AS value, fact.value AS exact, fact.dimension,
    CASE WHEN fact.preference = 0 THEN 'yes' ELSE 'no' END AS picked,
    CASE WHEN fact.disputed THEN 'yes' ELSE 'no' END AS disputed,
    CASE WHEN source.kind = 'assumed' THEN 'yes' ELSE 'no' END AS assumed,
    rtrim(fact.written || ' ' || fact.unit) AS written, fact.quote, fact.reading_unit, fact.reading_direction,
    fact.grounds, fact.formula, source.slug AS source, source.title AS source_title, source.kind AS source_kind,
    source.date AS source_date, fact.note
FROM fact
JOIN source ON source.id = fact.source_id""",
    "v_conflict": """
SELECT
    picked.subject, picked.attribute, picked.shown AS value, said.facts, said.lowest AS lowest_exact,
    said.highest AS highest_exact, picked.dimension, picked.note
FROM (
    SELECT subject, attribute, count(*) AS facts, min(value) AS lowest, max(value) AS highest,
        count(DISTINCT coalesce(CAST(value AS TEXT), written)) AS different, count(reading_unit) AS read_otherwise
    FROM fact GROUP BY subject, attribute
) AS said
JOIN fact AS picked ON picked.subject = said.subject AND picked.attribute = said.attribute AND picked.preference = 0
WHERE said.different > 1 OR (said.facts > 1 AND said.read_otherwise > 0)""",
}

READER = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'trninv_read') THEN
        CREATE ROLE trninv_read NOLOGIN;
    END IF;
    GRANT trninv_read TO CURRENT_USER;
EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
    RAISE NOTICE 'trninv sql needs the role trninv_read: an administrator may make it';
END $$
"""
GRANT = """
DO $$ DECLARE named text; BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'trninv_read') THEN
        FOR named IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema()
            AND tablename NOT IN ('token', 'alembic_version')
            UNION ALL SELECT viewname FROM pg_views WHERE schemaname = current_schema()
        LOOP
            EXECUTE format('GRANT SELECT ON %I TO trninv_read', named);
        END LOOP;
    END IF;
END $$
"""


def upgrade() -> None:
    for name, text in VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS{text}")
    if op.get_context().dialect.name == "postgresql":
        op.execute(READER)
        op.execute(GRANT)


def downgrade() -> None:
    for name in reversed(VIEWS):
        op.execute(f"DROP VIEW {name}")
