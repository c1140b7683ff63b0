"""The next release, which has one more migration than this one."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from trninv.database import engine as engine_module
from trninv.database import migration
from trninv.database.engine import newest_schema_version
from trninv.settings import resource_directory

VERSION = "9000"
"""Its schema version."""
_MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision = "{version}"
down_revision = "{before}"
{declaration}

def upgrade():
    op.add_column("rack", sa.Column("colour", sa.Text()))


def downgrade():
    op.drop_column("rack", "colour")
"""


def write_next_release(directory: Path, declaration: str) -> None:
    """Write its migrations into a directory; the last one has a declaration such as KEEPS_READERS."""
    shutil.copytree(resource_directory() / "migrations", directory / "migrations")
    shutil.copy(resource_directory() / "alembic.ini", directory)
    script = _MIGRATION.format(version=VERSION, before=newest_schema_version(), declaration=declaration)
    (directory / "migrations" / "versions" / f"{VERSION}_next.py").write_text(script)


@contextmanager
def next_release(declaration: str = "") -> Iterator[None]:
    """Let trninv be the next release."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        write_next_release(directory, declaration)
        with (
            patch.object(migration, "resource_directory", lambda: directory),
            patch.object(engine_module, "resource_directory", lambda: directory),
        ):
            newest_schema_version.cache_clear()
            try:
                yield
            finally:
                newest_schema_version.cache_clear()
