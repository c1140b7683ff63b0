"""A fleet on a database of its own, of which drift is asked: seeded, bound, imported, and what it prints."""

import json
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from io import BytesIO

from printed import MONITOR
from sqlalchemy import Engine

from fleet_outputs import Machine, Outputs, machines, outputs, stand
from trninv.catalog.facts import catalog
from trninv.catalog.models import systems
from trninv.importers.observation import File, observe
from trninv.inventory import migrate, stamp
from trninv.inventory.database import connect, writing
from trninv.live.drift import Drift, drift

FLEET_OF = {"u-trn2x64": 3, "trn2-16.48xlarge": 4, "trn1.32xlarge": 2}
START = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=2)
MINUTES = timedelta(minutes=1)


def seeded(url: str) -> None:
    with connect(url) as engine:
        migrate.migrate(engine)
        with writing(engine) as connection:
            for slug, domains in FLEET_OF.items():
                stamp.seed(connection, catalog(), systems().get(slug).resized(domains), slug)


def alive_fleet(url: str) -> None:
    """A fleet that is bound, and of which all is well."""
    seeded(url)
    fleet = machines()
    with connect(url) as engine:
        keep(engine, outputs(fleet), START)
        bound(engine, fleet)


def keep(engine: Engine, of: Outputs, at: datetime, but: Collection[tuple[str, str]] = ()) -> None:
    """Import everything that a fleet prints, or all but some of it."""
    by_kind: dict[str, list[File]] = {}
    for name, content in of.files():
        if (name, content) in but:
            continue
        kind, _, file = name.partition("/")
        by_kind.setdefault(kind, []).append(File(file, BytesIO(content.encode())))
    with writing(engine) as connection:
        for kind, files in by_kind.items():
            observe(connection, kind, files, taken_at=at)


def bound(engine: Engine, fleet: list[Machine]) -> None:
    with writing(engine) as connection:
        stand(connection, fleet)


def found(engine: Engine, at: datetime, scope: str | None = None, *, apply: bool = False) -> Drift:
    with writing(engine) as connection:
        return drift(connection, scope, now=at, apply=apply)


def monitored(instance: str, **groups: object) -> File:
    """A line of neuron-monitor of a plain trn2.48xlarge."""
    line = json.loads(json.dumps(MONITOR)) | groups
    line["instance_info"] |= {"instance_id": instance, "instance_type": "trn2.48xlarge"}
    return File("monitor.json", BytesIO(json.dumps(line).encode() + b"\n"))
