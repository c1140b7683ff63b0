"""Tables of events, their seals, the starts of histories, and sweeps."""

from sqlalchemy import (
    Boolean,
    Column,
    Index,
    Integer,
    String,
    Table,
    Text,
    text,
)

from trninv.database.tables.columns import (
    BIGINT,
    METADATA,
    check_one_of,
    condition_columns,
    primary_key,
    required_column,
)
from trninv.database.tables.vocabulary import (
    ACTIONS,
    EVENT_SOURCES,
    PART_KINDS,
    START_CAUSE_MEANINGS,
    STATES,
    SWEEP_STATE_MEANINGS,
)

# A recorded change of a part's state, with author and reason. The triggers of trninv.inventory.triggers.event_triggers
# insert the rows; nothing updates them. ``batch``, ``source`` and ``own_…`` may be null in rows from before the first
# release.
#
# ``batch``: the first event of the same change. ``previous_id``: the previous event of this part.
# ``own_…``: the part's own condition, without the effect of its server. ``clock_went_back``: whether the preceding
# event has a later time.
#
# With an ``action`` the row is about a job (``job`` is its name, ``part_id`` its id, ``address`` the smallest place
# with all its chips), or about a server (``part_id``, ``address``) that was cordoned or uncordoned. Such a row has no
# kind, and its states mean nothing. ``chip_ids``: the job's chips after the event (trninv.inventory.state.chip_ids);
# null if the job has ended or the event is not about a job; empty if plain SQL inserted the job without chips.
Table(
    "state_event",
    METADATA,
    primary_key(),
    required_column("at", Text),
    required_column("who", Text),
    required_column("why", Text),
    required_column("address", Text),
    required_column("before", String(12)),
    Column("factor_ppm_before", Integer),
    *condition_columns(),
    check_one_of("before", STATES),
    Column("batch", Integer),
    Column("source", String(8)),
    Column("kind", String(12)),
    Column("part_id", Integer),
    Column("previous_id", Integer),
    Column("own_before", String(12)),
    Column("own_factor_ppm_before", Integer),
    Column("own_state", String(12)),
    Column("own_factor_ppm", Integer),
    required_column("clock_went_back", Boolean, server_default=text("false")),
    Column("action", String(12)),
    Column("job", Text),
    Column("chip_ids", Text),
    check_one_of("source", EVENT_SOURCES, nullable=True),
    check_one_of("kind", PART_KINDS, nullable=True),
    check_one_of("action", ACTIONS, nullable=True),
    Index(None, "address"),
    Index(None, "batch"),
    Index("ix_state_event_part", "kind", "part_id", "id"),
    Index("ix_state_event_at", "at", "id"),
    Index("ix_state_event_unhealthy", "id", "previous_id", "kind", "part_id", sqlite_where=text("before <> 'up'")),
    Index("ix_state_event_back", "id", "at", sqlite_where=text("clock_went_back")),
    Index("ix_state_event_action", "action", "part_id", "id", sqlite_where=text("action IS NOT NULL")),
    Index("ix_state_event_job", "job", "id", sqlite_where=text("job IS NOT NULL")),
)

# The digest of all events up to the one with the seal's id, and of the rows of history_start up to ``starts``
# (trninv.inventory.state.hash_chain). Rows are never updated.
Table("event_seal", METADATA, primary_key(), required_column("sha256", String(64)), Column("starts", Integer))

# A recorded state of a cluster, from which the events after ``event`` lead to the current state
# (trninv.inventory.state.history_start). Only the newest row of a cluster is used. Rows are never updated, and deleted
# only once an archive contains their events.
Table(
    "history_start",
    METADATA,
    primary_key(),
    required_column("at", Text),
    required_column("event", Integer),
    required_column("cluster_id", Integer),
    required_column("cluster", Text),
    required_column("cause", String(8)),
    required_column("state", Text),
    check_one_of("cause", tuple(START_CAUSE_MEANINGS)),
)

# Events up to the one with the row's id exist only in an archive. ``sha256``: their seal, from which the chain of seals
# continues. ``since``: the time of the first event after them. ``directory``: where the archive was written. Rows are
# never updated.
Table(
    "history_archive",
    METADATA,
    primary_key(),
    required_column("sha256", String(64)),
    required_column("at", Text),
    required_column("since", Text),
    required_column("directory", Text),
    required_column("who", Text),
)

# Events up to ``event`` were sealed again before the first release, because their actions were renamed. ``sha256``:
# their former seal. ``archived``: the last event that existed only in an archive then. Rows are never updated.
Table(
    "seal_restart",
    METADATA,
    primary_key(),
    required_column("at", Text),
    required_column("event", Integer),
    required_column("archived", Integer),
    required_column("sha256", String(64)),
    required_column("schema_version", Text),
)

# Author and reason of the change in this transaction, which triggers copy into its events. Empty outside transactions.
Table(
    "_change",
    METADATA,
    primary_key(),
    required_column("at", Text),
    required_column("who", Text),
    required_column("why", Text),
    required_column("source", Text),
    Column("batch", Integer),
)

# A sweep that a service runs or has run (trninv.graphql.sweep_runner). ``arguments`` and ``answer`` are JSON.
# ``renewed``: when its process renewed the lease, by the database's clock, in seconds since 1970. ``attempt``: number
# of processes started for it; only the last one may write.
Table(
    "sweep",
    METADATA,
    primary_key(),
    required_column("state", String(9), server_default="running"),
    required_column("arguments", Text),
    required_column("started_at", Text),
    required_column("attempt", Integer, server_default="1"),
    required_column("renewed", BIGINT),
    required_column("done", Integer, server_default="0"),
    Column("total", Integer),
    Column("error", Text),
    Column("answer", Text),
    check_one_of("state", tuple(SWEEP_STATE_MEANINGS)),
)
