"""status: what is in the database. It imports no more than that takes."""

from collections.abc import Sequence

import click
from sqlalchemy import Connection, func, select

from trninv.cli.output import format_option, rows, show
from trninv.cli.progress import Progress
from trninv.inventory.chain import newest
from trninv.inventory.database import connect, display, newest_revision, reading
from trninv.inventory.schema import ORDER, TABLES


@click.command()
@format_option
@click.pass_obj
def status(database: str, style: str) -> None:
    """Which database, which revision, the newest seal of its history, what is seeded, how many rows.

    \b
    trninv status --format json
    """
    with connect(database) as engine, reading(engine) as connection, Progress("status"):
        revision = newest_revision()  # any other can't be read
        clusters = clusters_in(connection)
        seal = newest(connection)
        sizes = {name: connection.scalar(select(func.count()).select_from(TABLES[name])) for name in ("fact", *ORDER)}

    sealed = f"{seal.id}:{seal.sha256}" if seal else None

    def table() -> None:
        click.echo(f"database: {display(database)}\nrevision: {revision}\nsealed: {sealed or 'no event yet'}")
        rows(["cluster", "system", "domains", "chips"], map(_line, clusters), none="nothing is seeded yet: trninv seed")
        click.echo()
        rows(["table", "rows"], ([name, f"{size:,}"] for name, size in sizes.items()))

    revisions = {"revision": revision, "newest": revision}
    show(
        style,
        {"database": display(database), **revisions, "sealed": sealed, "clusters": clusters, "rows": sizes},
        table,
    )


def is_without(connection: Connection, table: str) -> bool:
    """Whether a table has no row yet."""
    return connection.scalar(select(TABLES[table]).limit(1)) is None


def _line(of: dict[str, object]) -> list[object]:
    return [f"{each:,}" if isinstance(each, int) else each for each in of.values()]


def clusters_in(connection: Connection) -> Sequence[dict[str, object]]:
    """Slug, system, and numbers of domains and chips of every cluster."""
    cluster, node = TABLES["cluster"], TABLES["node"]
    chips = (
        select(func.count())
        .where(node.c.cluster_id == cluster.c.id, node.c.kind == "chip")
        .scalar_subquery()
        .label("chips")
    )
    query = select(cluster.c.slug, cluster.c.system, cluster.c.domains, chips).order_by(cluster.c.id)
    return [dict(row) for row in connection.execute(query).mappings()]
