"""Find the packages of the extra `graph`."""

from importlib.util import find_spec
from pathlib import Path

from trninv.errors import UsageError


def package_directory() -> Path:
    """Return the directory from which the package ladybug is imported.

    Raises
    ------
    UsageError
        A package of the extra is not installed.

    """
    specification = find_spec("ladybug")
    if specification is None or specification.origin is None or find_spec("pyarrow") is None:
        raise UsageError("Cypher needs the packages ladybug and pyarrow: pip install 'trninv[graph]'")
    return Path(specification.origin).parent.parent
