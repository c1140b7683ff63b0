"""A fleet with things of every declared kind: current ones, and others."""

from datetime import UTC, datetime

from measuring import MEASUREMENT_ROW
from sqlalchemy import insert

from conftest import seed_everything, wear
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.access.bearer_tokens import create_token, revoke_token
from trninv.inventory.access.quota import Usage, save_usage
from trninv.inventory.state.bindings import bind, unbind
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.release import release
from trninv.placement.changes.reserve import reserve
from trninv.placement.changes.uncordon import uncordon
from trninv.placement.changes.unreserve import unreserve
from trninv.reconcile.latest_observations import pinned_binding

_AT = "2026-11-22T02:00:0{}.000000+00:00"


def populate(url: str) -> None:
    """Seed every system, and add things that are not seeded: current ones and others."""
    seed_everything(url)
    wear(url)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for instance, address in ("i-0a", "u-trn2x64/d0/s3"), ("i-0b", "u-trn2x64/d0/s1"), ("i-0c", "u-trn2x64/d0/s1"):
            bind(connection, [pinned_binding(connection, address, instance)], who="anna")
        unbind(connection, "u-trn2x64/d0/s3", who="bert")
        findings = [
            ("chip-missing", "high", "u-trn2x64/d0/s1/c3", None, "1 2", None),
            ("server-unbound", "medium", "u-trn2x64/d0/s2", None, None, None),
            ("instance-unplaced", "medium", None, "i-0d", "2", None),
            ("instance-replaced", "info", "u-trn2x64/d0/s1", "i-0c", "2", None),
            ("chip-extra", "high", "u-trn2x64/d0/s1", "i-0b", "1", _AT.format(9)),
        ]
        names = ("rule", "severity", "address", "instance", "evidence", "cleared_at")
        values = [
            {
                **dict(zip(names, row, strict=True)),
                "id": number,
                "first_seen": _AT.format(1),
                "last_seen": _AT.format(2),
            }
            for number, row in enumerate(findings, 1)
        ]
        connection.execute(insert(TABLES["finding"]), values)
        note = {"id": 1, "incident": "1", "written_at": _AT.format(3), "who": "anna", "source": "command", "text": "n"}
        connection.execute(insert(TABLES["incident_note"]), [note])
        cordon(connection, ["u-trn2x64/d0/s3", "u-trn2x64/d0/s1"], who="anna", why="repair")
        uncordon(connection, ["u-trn2x64/d0/s3"], who="bert")
        for job, spares, place in ("a", ["u-trn2x64/d0/s0/c9"], "u-trn2x64/d0/s0/c8"), ("b", (), "u-trn2x64/d0/s0/c12"):
            allocate(connection, job, [place], spares=spares, pinned=job == "a", who="anna")
        allocate(connection, "c", ["trn2-16.48xlarge/d0"], who="bert")
        release(connection, "b", who="bert")
        for name, place, begin in ("r", "u-trn2x64/d0/s0/c0", "2126-01-01T00:00:00Z"), ("q", "u-trn2x64/d0/s3", None):
            is_patch = name == "q"
            reserve(connection, name, [place], until="12h", from_=begin, maintenance=is_patch, who="anna", why=name)
        unreserve(connection, "r", who="bert")
        for name, scope, expires in ("grafana", "read", "9d"), ("n0", "observe", None), ("ops", "operate", None):
            create_token(connection, name, scope, expires)
        revoke_token(connection, "ops")
        save_usage(connection, {"n0": Usage(datetime.now(UTC).replace(minute=0, second=0, microsecond=0), 3, 400)})
        observation = {"source": "neuron-ls", "name": "n0.json", "is_whole": False, "servers": 1, "chips": 16}
        times = dict.fromkeys(("at", "taken_at", "seen_at"), _AT.format(3))
        keys = [{"id": number, "sha256": str(number), "speaker": "n0" if number == 1 else None} for number in (1, 2)]
        connection.execute(insert(TABLES["observation"]), [observation | times | key for key in keys])
        limits = [512 * 10**9, None, 0]
        measured = MEASUREMENT_ROW | {"address": "u-trn2x64/d0/s0", "measured_at": _AT.format(4)}
        rows = [measured | {"id": number, "limit_bandwidth": limit} for number, limit in enumerate(limits, 1)]
        rows[2] |= {"address": "u-trn2x64/d0/s1/c0", "peer": "u-trn2x64/d0/s1/c1", "operation": "transfer"}
        connection.execute(insert(TABLES["measurement"]), rows)
        targets = [("aws:us-east-2", 300, None), ("slurm", None, "scontrol is not on PATH")]
        discoveries = [
            {"id": number, "target": target, "every_seconds": every, "started_at": _AT.format(3), "error": error}
            for number, (target, every, error) in enumerate(targets, 1)
        ]
        connection.execute(insert(TABLES["discovery"]), discoveries)
