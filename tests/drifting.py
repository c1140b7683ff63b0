"""A fleet on a database of its own, of which drift is asked: seeded, bound, imported, and what it prints."""

import json
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from io import BytesIO

from printed import MONITOR
from sqlalchemy import Engine

from fleet_outputs import Machine, Outputs, machines, outputs, stand
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.importers.ingestion import ImportFile, import_files
from trninv.inventory.seeding import cluster_seeding
from trninv.reconcile.drift import DriftResult, detect_drift

FLEET_OF = {"u-trn2x64": 3, "trn2-16.48xlarge": 4, "trn1.32xlarge": 2}
START = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=2)
MINUTES = timedelta(minutes=1)
MEASURED_RULES = ("impossible-measurement", "slow-collective", "slower-than-peers")
"""Rules about what nobody prints regularly; tests/reconcile/test_measurement_rules.py has their faults."""


def seeded(url: str) -> None:
    with temporary_engine(url) as engine:
        migration.migrate(engine)
        with write_transaction(engine) as connection:
            for slug, domains in FLEET_OF.items():
                cluster_seeding.seed(connection, default_catalog(), default_systems().get(slug).resized(domains), slug)


def alive_fleet(url: str) -> None:
    """A fleet that is bound, and of which all is well."""
    seeded(url)
    fleet = machines()
    with temporary_engine(url) as engine:
        keep(engine, outputs(fleet), START)
        bound(engine, fleet)


def keep(engine: Engine, of: Outputs, at: datetime, but: Collection[tuple[str, str]] = ()) -> None:
    """Import everything that a fleet prints, or all but some of it."""
    by_kind: dict[str, list[ImportFile]] = {}
    for name, content in of.files():
        if (name, content) in but:
            continue
        kind, _, file = name.partition("/")
        by_kind.setdefault(kind, []).append(ImportFile(file, BytesIO(content.encode())))
    with write_transaction(engine) as connection:
        for kind, files in by_kind.items():
            import_files(connection, kind, files, taken_at=at)


def bound(engine: Engine, fleet: list[Machine]) -> None:
    with write_transaction(engine) as connection:
        stand(connection, fleet)


def found(engine: Engine, at: datetime, scope: str | None = None, *, apply: bool = False) -> DriftResult:
    with write_transaction(engine) as connection:
        return detect_drift(connection, scope, now=at, apply_as="anna" if apply else None)


def monitored(instance: str, **groups: object) -> ImportFile:
    """A line of neuron-monitor of a plain trn2.48xlarge."""
    line = json.loads(json.dumps(MONITOR)) | groups
    line["instance_info"] |= {"instance_id": instance, "instance_type": "trn2.48xlarge"}
    return ImportFile("monitor.json", BytesIO(json.dumps(line).encode() + b"\n"))
