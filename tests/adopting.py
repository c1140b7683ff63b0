"""Adopts what was imported, in tests."""

import json
from io import BytesIO
from typing import Any

from sqlalchemy import Connection, Engine, text

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import write_transaction
from trninv.importers.ingestion import ImportFile, import_files
from trninv.reconcile.adoption import AdoptionResult, adopt


def keep(connection: Connection, kind: str, *documents: object, **more: Any) -> None:
    """Import what a program printed."""
    files = [ImportFile(f"{at}.json", BytesIO(json.dumps(each).encode())) for at, each in enumerate(documents)]
    import_files(connection, kind, files, **more)


def adopted(engine: Engine, *instances: dict[str, Any], name: str = "lab") -> AdoptionResult:
    """Adopted from a page of DescribeInstanceTopology."""
    with write_transaction(engine) as connection:
        keep(connection, "ec2", {"Instances": list(instances)})
        return adopt(connection, default_catalog(), default_systems(), name)


def standing(engine: Engine) -> dict[str, str]:
    """Instances by the addresses of their slots."""
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT address, instance FROM binding WHERE ended_at IS NULL ORDER BY id"))
        return {row.address: row.instance for row in rows}
