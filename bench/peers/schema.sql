-- The views through which PostGraphile reads a database that trninv has seeded, and a setting for both peers:
-- just-in-time compilation is off, since it takes longer than these pages.
ALTER DATABASE fleet SET jit = off;
CREATE SCHEMA peer;

CREATE VIEW peer.rack AS
SELECT rack.id, cluster.slug || '/r' || rack.ordinal AS address
FROM rack JOIN cluster ON cluster.id = rack.cluster_id;
COMMENT ON VIEW peer.rack IS E'@primaryKey id';

CREATE VIEW peer.server AS
SELECT
    server.id, server.rack_id, upper(server.state) AS state,
    cluster.slug || '/d' || domain.ordinal || '/s' || server.ordinal AS address
FROM server
JOIN domain ON domain.id = server.domain_id
JOIN cluster ON cluster.id = domain.cluster_id;
COMMENT ON VIEW peer.server IS E'@primaryKey id\n@foreignKey (rack_id) references peer.rack (id)';

CREATE VIEW peer.chip AS
SELECT
    chip.id, chip.server_id, chip.ordinal, upper(node.state) AS state,
    chip_model.device_memory_bytes::double precision / 1073741824 AS gibibytes,
    cluster.slug || '/d' || domain.ordinal || '/s' || server.ordinal || '/c' || chip.ordinal AS address
FROM chip
JOIN node ON node.id = chip.id
JOIN chip_model ON chip_model.id = chip.chip_model_id
JOIN server ON server.id = chip.server_id
JOIN domain ON domain.id = server.domain_id
JOIN cluster ON cluster.id = domain.cluster_id;
COMMENT ON VIEW peer.chip IS E'@primaryKey id\n@foreignKey (server_id) references peer.server (id)';

CREATE VIEW peer.chip_link AS
SELECT
    id, a_id AS chip_id, technology, upper(scope) AS scope,
    bandwidth_bytes_per_s::double precision / 1000000000 AS gigabytes_per_second
FROM link
UNION ALL
SELECT
    id, b_id, technology, upper(scope), bandwidth_bytes_per_s::double precision / 1000000000
FROM link;
COMMENT ON VIEW peer.chip_link IS E'@primaryKey id,chip_id\n@foreignKey (chip_id) references peer.chip (id)';
