"""Define the tables. ``node`` is the vertex table and ``link`` the edge table of the graph; the others describe them.

Bandwidths are bytes per second in one direction, capacities bytes, compute 10⁹ operations per second.
"""

from trninv.database.tables import access, catalog, hardware, history, observations  # noqa: F401 # declare their tables
from trninv.database.tables.access import PRIVATE_TABLES
from trninv.database.tables.columns import (
    BIGINT,
    METADATA,
    TABLES,
    foreign_key,
    is_unhealthy,
    make_indexes_partial,
    primary_key,
)
from trninv.database.tables.jobs import BITMASK_WORDS, JOB_TABLES, allocated_mask, allocation_bits_row
from trninv.database.tables.vocabulary import (
    ACTION_MEANINGS,
    ACTIONS,
    ALLOCATION_ROLE_MEANINGS,
    BINDING_END_MEANINGS,
    BINDING_METHOD_MEANINGS,
    CARRYING_STATES,
    CONFIDENCE_MEANINGS,
    EVENT_SOURCE_MEANINGS,
    EVENT_SOURCES,
    FORMER_ACTIONS,
    JOB_ACTIONS,
    LINK_SCOPE_MEANINGS,
    LINK_SCOPES,
    MEASURED_OPERATION_MEANINGS,
    NODE_KINDS,
    PART_KIND_MEANINGS,
    PART_KINDS,
    SERVER_ACTIONS,
    SEVERITY_ORDER,
    STATE_MEANINGS,
    STATES,
    SWEEP_STATE_MEANINGS,
    TOKEN_ACTION_MEANINGS,
    TOKEN_SCOPE_MEANINGS,
    TOKEN_SCOPES,
    TOKEN_SCOPES_ALLOWED,
    TRAY_KIND_MEANINGS,
    TRAY_KINDS,
)

__all__ = [
    "ACTIONS",
    "ACTION_MEANINGS",
    "ALLOCATION_ROLE_MEANINGS",
    "BIGINT",
    "BINDING_END_MEANINGS",
    "BINDING_METHOD_MEANINGS",
    "BITMASK_WORDS",
    "CARRYING_STATES",
    "CONFIDENCE_MEANINGS",
    "EVENT_SOURCES",
    "EVENT_SOURCE_MEANINGS",
    "FORMER_ACTIONS",
    "INSERT_ORDER",
    "JOB_ACTIONS",
    "JOB_TABLES",
    "LINK_SCOPES",
    "LINK_SCOPE_MEANINGS",
    "MEASURED_OPERATION_MEANINGS",
    "METADATA",
    "NODE_KINDS",
    "PART_KINDS",
    "PART_KIND_MEANINGS",
    "PRIVATE_TABLES",
    "SERVER_ACTIONS",
    "SEVERITY_ORDER",
    "STATES",
    "STATE_MEANINGS",
    "SWEEP_STATE_MEANINGS",
    "TABLES",
    "TOKEN_ACTION_MEANINGS",
    "TOKEN_SCOPES",
    "TOKEN_SCOPES_ALLOWED",
    "TOKEN_SCOPE_MEANINGS",
    "TRAY_KINDS",
    "TRAY_KIND_MEANINGS",
    "allocated_mask",
    "allocation_bits_row",
    "foreign_key",
    "is_unhealthy",
    "make_indexes_partial",
    "primary_key",
]

INSERT_ORDER = ("domain", "rack", "server", "tray", "node", "chip", "switch", "nic", "network_node", "core", "link")
"""The tables of a cluster's rows, ordered by their foreign keys."""
