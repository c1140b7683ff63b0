"""Run SQL over an archive with DuckDB, in this process, or with Spark.

Neither needs the database, and only one of the two must be installed. Both run the same SQL over the views `part` and
`event`, which are defined in the dialect of each engine.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from trninv.errors import InvalidFileError, UsageError, how_to_install

_SPARK_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",  # otherwise one task per day only lists files
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",  # size tasks by bytes, even if cores stay idle
}
_SCHEMAS: Final = {  # without schemas, Spark reads the footers of all files to infer them
    "parts": "kind STRING, part_id BIGINT, cluster STRING, rack STRING, model STRING, state STRING, own_state STRING, "
    "known_from BIGINT, since TIMESTAMP_NTZ",
    "events": "id BIGINT, previous_id BIGINT, clock_went_back BOOLEAN, kind STRING, part_id BIGINT, before STRING, "
    "state STRING, own_before STRING, own_state STRING, time TIMESTAMP_NTZ, day DATE",
}
_RAW_VIEWS: Final = {"parts": "part_of_file", "events": "event_of_file"}
"""The view (or an empty table) with the rows of each dataset's files; `part` and `event` select from it."""
_PART_COLUMNS: Final = "kind, part_id, cluster, rack, model, known_from, state, own_state"
_EVENT_COLUMNS: Final = "id, previous_id, clock_went_back, kind, part_id, before, state, own_before, own_state"


def query_duckdb(directory: Path, sql: str, threads: int | None = None) -> list[tuple[Any, ...]]:
    """Run a query over `part` and `event` with DuckDB.

    Parameters
    ----------
    threads
        The number of threads; None lets DuckDB choose.

    Raises
    ------
    InvalidFileError
        The archive has no parts, or they lack a column.
    UsageError
        DuckDB is not installed.

    """
    try:
        import duckdb  # noqa: PLC0415 # an extra
    except ImportError:
        raise UsageError(f"this needs DuckDB: {how_to_install('duckdb')}") from None
    with duckdb.connect() as connection:
        if threads:
            connection.execute(f"SET threads = {threads}")
        for name, dataset_directory in _dataset_directories(directory).items():
            if dataset_directory is None:  # DuckDB's TIMESTAMP never has a zone, so it has no TIMESTAMP_NTZ
                connection.execute(f"CREATE TABLE {_RAW_VIEWS[name]} ({_SCHEMAS[name].replace('_NTZ', '')})")
                continue
            files = f"{dataset_directory}/**/*.parquet".replace("'", "''")
            rows = f"read_parquet('{files}', hive_partitioning = true, union_by_name = true)"
            connection.execute(f"CREATE VIEW {_RAW_VIEWS[name]} AS SELECT * FROM {rows}")  # noqa: S608 # only our own names
        _check_columns(directory, [row[0] for row in connection.execute(f"DESCRIBE {_RAW_VIEWS['parts']}").fetchall()])
        for view in _view_statements("epoch_us({})"):
            connection.execute(view)
        answer: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
        return answer


def query_spark(directory: Path, sql: str, master: str | None = None) -> list[tuple[Any, ...]]:
    """Run a query over `part` and `event` with Spark.

    Parameters
    ----------
    master
        The Spark master; None uses the one that spark-submit or Spark's settings name, or else this machine.

    Raises
    ------
    InvalidFileError
        The archive has no parts, or they lack a column.
    UsageError
        PySpark is not installed.

    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 # an extra
    except ImportError:
        raise UsageError(f"this needs PySpark and Java 17: {how_to_install('spark')}") from None
    builder = SparkSession.builder.appName("trninv availability").config("spark.sql.session.timeZone", "UTC")
    for name, value in _SPARK_SETTINGS.items():
        builder = builder.config(name, value)
    session = (builder.master(master) if master else builder).getOrCreate()
    try:
        for name, dataset_directory in _dataset_directories(directory).items():
            if name == "parts":
                _check_columns(directory, session.read.parquet(str(dataset_directory)).columns)
            schema = _SCHEMAS[name]
            rows = (
                session.read.schema(schema).parquet(str(dataset_directory))
                if dataset_directory
                else session.createDataFrame([], schema)
            )
            rows.createOrReplaceTempView(_RAW_VIEWS[name])
        for view in _view_statements("unix_micros(CAST({} AS TIMESTAMP))"):
            session.sql(view.replace("CREATE VIEW", "CREATE OR REPLACE TEMP VIEW", 1))
        return [tuple(row) for row in session.sql(sql).collect()]
    finally:
        session.stop()


def _dataset_directories(directory: Path) -> dict[str, Path | None]:
    """Return the directory of the newest version of the parts, and that of the events, which is None without events."""
    versions = [int(file.parent.name.removeprefix("version=")) for file in directory.glob("parts/version=*/*.parquet")]
    if not versions:
        raise InvalidFileError(f"{directory} has no parts yet; run trninv archive {directory} again")
    has_events = any(directory.glob("events/day=*/*.parquet"))
    return {
        "parts": directory / "parts" / f"version={max(versions)}",
        "events": directory / "events" if has_events else None,
    }


def _check_columns(directory: Path, columns: Collection[str]) -> None:
    """Refuse parts that an earlier trninv wrote without own_state, which can't be derived from their states."""
    if "own_state" not in columns:
        problem = "was written by an earlier trninv, whose parts have no own_state"
        raise InvalidFileError(f"{directory} {problem}; run trninv archive {directory} once to add it")


def _view_statements(micros: str) -> list[str]:
    """Return the statements that create `part` and `event`.

    Parameters
    ----------
    micros
        The engine's expression for the microseconds since 1970 of the timestamp {}.
    """
    since, event_time = micros.format("since"), micros.format("time")
    return [
        f"CREATE VIEW part AS SELECT {_PART_COLUMNS}, {since} AS since_us FROM part_of_file",  # noqa: S608 # only our own names
        f"CREATE VIEW event AS SELECT {_EVENT_COLUMNS}, {event_time} AS us FROM event_of_file",  # noqa: S608 # only our own names
    ]
