"""Tables of events, their seals, the starts of histories, notes on incidents, and sweeps."""

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
    described,
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

# The triggers of trninv.inventory.triggers.event_triggers insert the rows; nothing updates them. ``batch``,
# ``source`` and ``own_…`` may be null in rows from before the first release. ``chip_ids``: see
# trninv.inventory.state.chip_ids.
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
    info=described(
        "a change of a part's state, or an action on a job, cordon or reservation; written by triggers. With an "
        "action, `part_id` is the row of the `job` or `reservation`, or of the `server`; `kind` is null, and the "
        "states mean nothing",
        at="time",
        address="of the part; of a job, the smallest place with all its chips",
        before="the state before",
        source="command, api, import, drift or sql",
        batch="the first event of the same change",
        kind="of the part",
        part_id="the row of `server`, `node` or `link`",
        previous_id="the part's previous event",
        own_before="this and the next three: the part's own state before and after, as in `node`",
        clock_went_back="the event before it has a later time; the ids keep the order",
        action="allocate, move, release, cordon, uncordon, reserve, unreserve; null: a change of state",
        job="name of the job or reservation",
        chip_ids="its chips after the event, such as `1-16,40;41`: spares follow the semicolon. Null: it has none; "
        "empty: plain SQL did not write them",
    ),
)

# See trninv.inventory.state.hash_chain. Rows are never updated.
Table(
    "event_seal",
    METADATA,
    primary_key(),
    required_column("sha256", String(64)),
    Column("starts", Integer),
    Column("sealed_rows", Text),
    info=described(
        "the SHA-256 of all events up to its `id`, of rows of `history_start`, and of `sealed_rows`",
        starts="the last row of `history_start` that it covers",
        sealed_rows="JSON: the last rows of `incident_note` and `token_event`, and the SHA-256 of all up to them",
    ),
)

# See trninv.inventory.state.history_start. Rows are never updated, and deleted only once an archive contains their
# events.
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
    info=described(
        "the state of a cluster after the event `event`, with which its history starts. The newest row of a cluster "
        "counts; archiving may remove older ones",
        cluster="its name",
        cause="seed, grow, archive, migrate, unseed",
        state="JSON: unhealthy `parts`, `jobs` with chips, `closed` (cordoned) servers, `last_job`",
    ),
)

# Rows are never updated.
Table(
    "history_archive",
    METADATA,
    primary_key(),
    required_column("sha256", String(64)),
    required_column("at", Text),
    required_column("since", Text),
    required_column("directory", Text),
    required_column("who", Text),
    info=described(
        "a run of `trninv archive --delete`: events up to its `id` are now only in the archive",
        sha256="their seal, with which the history begins",
        since="the time of the first event after them",
    ),
)

# Rows are never updated.
Table(
    "seal_restart",
    METADATA,
    primary_key(),
    required_column("at", Text),
    required_column("event", Integer),
    required_column("archived", Integer),
    required_column("sha256", String(64)),
    required_column("schema_version", Text),
    info=described(
        "events up to `event` were sealed again before the first release, because their actions were renamed",
        archived="the last event that existed only in an archive then",
        sha256="their former seal",
    ),
)

Table(
    "_change",
    METADATA,
    primary_key(),
    required_column("at", Text),
    required_column("who", Text),
    required_column("why", Text),
    required_column("source", Text),
    Column("batch", Integer),
    info=described(
        "the author of the changes in the current transaction, which triggers copy to its events; empty after the "
        "commit, and not readable by reports"
    ),
)

# See trninv.graphql.sweep_runner.
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
    info=described(
        "a sweep that a service runs or has run",
        arguments="JSON",
        answer="JSON",
        attempt="number of processes started for it; only the last one may write",
        renewed="when that one last reported, by the database's clock, in seconds since 1970",
        done="solved classes of failures",
        total="all of them",
    ),
)

Table(
    "incident_note",
    METADATA,
    primary_key(),
    required_column("incident", Text),
    required_column("written_at", Text),
    required_column("who", Text),
    required_column("source", String(8)),
    required_column("text", Text),
    check_one_of("source", EVENT_SOURCES),
    Index(None, "incident"),
    info=described(
        "a [note](incidents.md#notes) on an incident; rows are never updated or deleted",
        incident="its id: the number of its first event, or an address",
    ),
)
