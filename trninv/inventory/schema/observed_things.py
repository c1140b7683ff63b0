"""Declare observations, measurements, and what follows from them: bindings of instances to slots, and findings.

A finding is a difference between observation and design; its list is named drift.
"""

from typing import Final

from sqlalchemy import Integer, case, func, literal_column

from trninv.database.finding_rules import SEVERITIES
from trninv.database.tables import BIGINT, TABLES
from trninv.inventory.database_contents import IS_LATE
from trninv.inventory.schema.enumerations import (
    BINDING_ENDING,
    BINDING_HOW,
    CONFIDENCE,
    MEASURED_OPERATION,
    RULE,
    SEVERITY,
)
from trninv.inventory.schema.thing import Field, Lifetime, Thing, ValueFormat, View, column_field

_BINDING, _FINDING, _MEASUREMENT, _OBSERVATION, _DISCOVERY = (
    TABLES[name] for name in ("binding", "finding", "measurement", "observation", "discovery")
)
_NOTE = TABLES["incident_note"]

OBSERVED_THINGS: Final = (
    Thing(
        name="binding",
        description="A slot's link to an instance; the slot is a server of the design.",
        list_name="bindings",
        list_description="Bindings of instances to slots, ordered by slot.",
        table=_BINDING,
        fields=(
            column_field(_BINDING.c.address, "Address of the server.", ValueFormat.PLACE, name="slot"),
            column_field(_BINDING.c.instance, "Id of the instance; null if only its host is known."),
            column_field(_BINDING.c.host, "Host name, if known."),
            column_field(_BINDING.c.started_at, "Start of the binding (UTC).", ValueFormat.TIME),
            column_field(_BINDING.c.ended_at, "End of the binding (UTC); null while it lasts.", ValueFormat.TIME),
            column_field(_BINDING.c.method, "How the binding was established.", enumeration=BINDING_HOW),
            column_field(_BINDING.c.confidence, "Confidence in the binding.", enumeration=CONFIDENCE),
            column_field(_BINDING.c.evidence, "Evidence of an inferred binding, as text."),
            column_field(_BINDING.c.who, "Who bound it."),
            column_field(_BINDING.c.ending, "Why it ended.", enumeration=BINDING_ENDING),
            column_field(_BINDING.c.ended_by, "Who ended it."),
        ),
        columns=("slot", "instance", "host", "started_at", "method", "confidence", "who"),
        has_scope=True,
        lifetime=Lifetime(
            "include_ended",
            "Whether to include bindings that have ended.",
            _BINDING.c.ended_at.is_(None),
            ("ended_at", "ending", "ended_by"),
        ),
        sort_keys=(column_field(_BINDING.c.server_id, "Number of the slot in the design.", name="slot_number"),),
        default_order=("slot_number",),
    ),
    Thing(
        name="finding",
        description="A difference between observation and design.",
        list_name="drift",
        list_description="Differences between observations and the design, worst first, as of driftComparedAt: this "
        "query compares nothing. Run trninv drift after imports.",
        table=_FINDING,
        fields=(
            column_field(
                _FINDING.c.id, "Its number; a state that it set cites the number in its reason.", ValueFormat.KEY
            ),
            column_field(_FINDING.c.rule, "The rule that found it.", enumeration=RULE),
            column_field(_FINDING.c.severity, "Its severity.", enumeration=SEVERITY),
            column_field(
                _FINDING.c.address,
                "The server, chip, domain, network node or cluster; null for an instance without a slot.",
            ),
            column_field(_FINDING.c.instance, "The instance, or its host name if only that is known."),
            column_field(_FINDING.c.expected, "What the design has, as text."),
            column_field(_FINDING.c.observed, "What was observed, as text."),
            Field(
                "evidence",
                ValueFormat.INTS,
                func.coalesce(_FINDING.c.evidence, literal_column("''")),
                "Ids of the observations that show it.",
                is_filterable=False,
            ),
            column_field(_FINDING.c.first_seen, "When it was first found (UTC).", ValueFormat.TIME),
            column_field(_FINDING.c.last_seen, "When it was last found (UTC).", ValueFormat.TIME),
            column_field(_FINDING.c.cleared_at, "When it cleared (UTC); null while it lasts.", ValueFormat.TIME),
        ),
        view=View(
            "v_drift",
            names={"id": None},
            example="SELECT severity, rule, count(*) AS findings FROM v_drift WHERE cleared_at IS NULL GROUP BY "
            "severity, rule",
        ),
        columns=("severity", "rule", "address", "instance", "expected", "observed", "first_seen"),
        has_scope=True,
        lifetime=Lifetime(
            "include_cleared", "Whether to include cleared findings.", _FINDING.c.cleared_at.is_(None), ("cleared_at",)
        ),
        sort_keys=(
            Field(
                "severity_rank",
                ValueFormat.INT,
                case(
                    *(
                        (_FINDING.c.severity == literal_column(f"'{severity}'"), literal_column(str(rank), Integer))
                        for rank, severity in enumerate(reversed(SEVERITIES))
                    ),
                    else_=literal_column("-1", Integer),
                ),
                "Rank of the severity, 0 for the worst.",
            ),
        ),
        default_order=("severity_rank",),
    ),
    Thing(
        name="incident_note",
        description="A note on an incident, open or closed.",
        list_name="incident_notes",
        list_description="Notes on incidents, oldest first.",
        table=_NOTE,
        fields=(
            column_field(_NOTE.c.incident, "Id of the incident."),
            column_field(_NOTE.c.written_at, "When it was written, UTC.", ValueFormat.TIME),
            column_field(_NOTE.c.who, "Who wrote it."),
            column_field(_NOTE.c.source, "Where it came from: command, api, import, drift or sql."),
            column_field(_NOTE.c.text, "The note."),
        ),
    ),
    Thing(
        name="observation",
        description="An imported file: what a tool reported at a time.",
        list_name="observations",
        table=_OBSERVATION,
        fields=(
            column_field(_OBSERVATION.c.id, "Its number, which findings cite as evidence.", ValueFormat.KEY),
            column_field(_OBSERVATION.c.source, "The tool that wrote it."),
            column_field(_OBSERVATION.c.name, "Name of the file."),
            column_field(_OBSERVATION.c.speaker, "The instance or host that it describes, if it describes only one."),
            column_field(_OBSERVATION.c.taken_at, "When it was written (UTC).", ValueFormat.TIME),
            column_field(_OBSERVATION.c.at, "When it was first imported (UTC).", ValueFormat.TIME, name="imported_at"),
            column_field(_OBSERVATION.c.seen_at, "When the same content was last written (UTC).", ValueFormat.TIME),
            column_field(_OBSERVATION.c.is_whole, "Whether it lists all machines."),
            column_field(_OBSERVATION.c.servers, "Number of servers in it."),
            column_field(_OBSERVATION.c.chips, "Number of chips in it."),
        ),
    ),
    Thing(
        name="measurement",
        description="How fast a collective or a transfer ran, beside the limit of the wiring at that moment.",
        list_name="measurements",
        list_description="Measurements in the order of their import.",
        table=_MEASUREMENT,
        fields=(
            column_field(_MEASUREMENT.c.operation, "What was timed.", enumeration=MEASURED_OPERATION),
            column_field(_MEASUREMENT.c.address, "Address of its chips, or of the source of a transfer."),
            column_field(_MEASUREMENT.c.peer, "Address of the target of a transfer."),
            column_field(_MEASUREMENT.c.machine, "The instance or host that measured."),
            column_field(_MEASUREMENT.c.measured_at, "When it was measured (UTC).", ValueFormat.TIME),
            column_field(_MEASUREMENT.c.event, "Number of the last event up to then."),
            column_field(_MEASUREMENT.c.chips, "Number of chips."),
            column_field(_MEASUREMENT.c.ranks, "Number of ranks."),
            column_field(_MEASUREMENT.c.logical_cores, "Physical cores of a rank (LNC)."),
            column_field(_MEASUREMENT.c.data_type, "Type of the data, such as bf16."),
            column_field(_MEASUREMENT.c.bytes, "Size of the data.", ValueFormat.CAPACITY, name="size"),
            column_field(_MEASUREMENT.c.nanoseconds, "Time that it took, nanoseconds.", ValueFormat.BIGINT),
            column_field(_MEASUREMENT.c.algorithm_bandwidth, "Size over the time.", ValueFormat.BANDWIDTH),
            column_field(
                _MEASUREMENT.c.bus_bandwidth,
                "What each chip received over the time; for a transfer, its size over the time.",
                ValueFormat.BANDWIDTH,
            ),
            column_field(
                _MEASUREMENT.c.limit_bandwidth,
                "Limit of the wiring on the bus bandwidth at that moment; null if trninv knows none.",
                ValueFormat.BANDWIDTH,
            ),
            Field(
                "share",
                ValueFormat.MILLIONTHS,
                (_MEASUREMENT.c.bus_bandwidth * literal_column("1000000", BIGINT)).op("/")(
                    func.nullif(_MEASUREMENT.c.limit_bandwidth, literal_column("0"))
                ),
                "Bus bandwidth over its limit; above 1 is impossible. Null without a limit, or if it is 0.",
                nullable=True,
            ),
            column_field(_MEASUREMENT.c.observation_id, "Number of the import.", name="observation"),
        ),
        view=View(
            "v_measurement", example="SELECT operation, max(share) AS best FROM v_measurement GROUP BY operation"
        ),
        columns=(
            "measured_at",
            "address",
            "operation",
            "size",
            "data_type",
            "bus_bandwidth",
            "limit_bandwidth",
            "share",
        ),
        has_scope=True,
    ),
    Thing(
        name="discovery",
        description="A target that trninv discover pulls.",
        list_name="discoveries",
        list_description="Targets that trninv discover pulls, by name.",
        table=_DISCOVERY,
        fields=(
            column_field(_DISCOVERY.c.target, "The target, such as aws:us-east-2."),
            column_field(_DISCOVERY.c.identity, "The account or cluster that answered."),
            column_field(_DISCOVERY.c.every_seconds, "Seconds between pulls; null if it is pulled by hand."),
            column_field(_DISCOVERY.c.started_at, "When the latest pull started (UTC).", ValueFormat.TIME),
            column_field(_DISCOVERY.c.read_at, "When it was last read and stored (UTC).", ValueFormat.TIME),
            column_field(
                _DISCOVERY.c.late_at,
                "When it is late: two intervals after it was last read (UTC); null if it is pulled by hand.",
                ValueFormat.TIME,
            ),
            Field("late", ValueFormat.BOOLEAN, IS_LATE, "Whether it is late now."),
            column_field(_DISCOVERY.c.result, "What the last stored pull read and changed."),
            column_field(_DISCOVERY.c.error, "Why the latest pull failed; null if it did not."),
            column_field(
                _DISCOVERY.c.clusters,
                "Names of the clusters with servers that its last stored pull listed, separated by blanks; null: none.",
            ),
        ),
        columns=("target", "read_at", "late_at", "every_seconds", "error", "clusters"),
        sort_keys=(),
        default_order=("target",),
    ),
)
