"""up, migrate, systems, seed, unseed, verify: what is in the database, and putting it there."""

from collections.abc import Iterable, Sequence

import click
from sqlalchemy import Connection, Engine

import trninv
from trninv.catalog.design import Design
from trninv.catalog.facts import catalog
from trninv.catalog.models import System
from trninv.catalog.models import systems as known_systems
from trninv.cli.output import format_option, rows, show
from trninv.cli.progress import Progress
from trninv.cli.prose import hint, say
from trninv.cli.status import clusters_in
from trninv.errors import ClusterExistsError, TrninvError, UsageError, WrongLevelError
from trninv.inventory import chain, stamp, triggers
from trninv.inventory import migrate as migrations
from trninv.inventory.address import Place, cluster_name, resolve
from trninv.inventory.chain import Chain
from trninv.inventory.database import connect, display, reading, writing
from trninv.inventory.replay import uncompared
from trninv.inventory.seals import read as read_seal
from trninv.inventory.verify import kept
from trninv.inventory.verify import verify as differences
from trninv.reports import views
from trninv.reports.postgresql_reader import make_login
from trninv.settings import Settings
from trninv.units import Capacity, counted

_TOUR = "u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s2/c10", "u-trn2x64"


@click.command()
@click.option("--check", "checking", is_flag=True, help="Send every route of the service one request, then stop.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.pass_context
def up(context: click.Context, checking: bool, host: str, port: int) -> None:
    """Migrate, seed, answer four questions, serve the explorer.

    \b
    trninv up --check
    """
    with connect(context.obj) as engine:
        migrations.migrate(engine)
        for system in _default_systems():
            try:
                _seed(engine, [system])
            except ClusterExistsError as error:
                click.echo(f"{system.slug}: left as it is: {error}")
    click.echo(f"database: {display(context.obj)}")
    try:
        _tour(context.obj)
    except TrninvError as error:  # the fleet may have changed since: that is no reason not to serve it
        click.echo(f"the four questions: {error}")
        if checking:
            raise
    from trninv.cli import check, serve  # noqa: PLC0415 # the server is slow to import

    if checking:
        asked = check.check(context.obj)
        click.echo(f"service:   {asked} requests over HTTP, every route at least once: all answered correctly")
    else:
        context.invoke(serve.serve, host=host, port=port)


def _tour(database: str) -> None:
    source, target, scope = _TOUR
    with trninv.open(database) as fleet:
        path = fleet.path(source, target)
        flow = fleet.bandwidth(source, target)
        pool = fleet.memory_pool(source)
        half = fleet.bisection(scope)
    best = f"{path.paths[0].hops} hops, {path.paths[0].bandwidth} one direction" if path.paths else f"no: {path.reason}"
    click.echo(f"path:      {source} to {target}: {best}")
    click.echo(f"bandwidth: {source} to {target}: {flow.maximum_flow} one direction over all paths")
    click.echo(f"pool:      {source}: {pool.memory} on {pool.chips} chips")
    click.echo(f"bisection: {scope}: {half.upper} one direction ({'exact' if half.exact else 'upper bound'})")


@click.command()
@click.option("--to", default="head", show_default=True, metavar="REV", help="Revision to go to; base removes all.")
@click.option("--check", is_flag=True, help="Only say whether the database is as the schema wants it.")
@click.option("--sql", is_flag=True, help="Print the DDL instead of running it.")
@click.option("--yes", is_flag=True, help="Go to an older revision although it has no place for what would be lost.")
@click.pass_obj
def migrate(database: str, to: str, check: bool, sql: bool, yes: bool) -> None:
    """Bring the database's schema to a revision.

    \b
    trninv migrate
    trninv --database postgresql://localhost/fleet migrate
    """
    if check and (sql or to != "head"):
        raise UsageError("--check compares the database with the newest schema: give no --to or --sql beside it")
    with connect(database) as engine:
        if sql:
            click.echo(migrations.sql(engine, to))
        elif check:
            with reading(engine) as connection, Progress("migrate --check"):
                wrong = migrations.check(engine) or views.check(connection) or triggers.check(connection)
            click.echo(wrong or "the schema is up to date")
            if wrong:
                raise click.exceptions.Exit(1)
        else:
            if not yes and (lost := migrations.losses(engine, to)):
                raise UsageError(f"going to revision {to} would lose {', '.join(lost)}: back it up and add --yes")
            with Progress("migrate") as progress:
                migrations.migrate(engine, to, progress)
            if engine.dialect.name == "postgresql" and (login := Settings.load().sql_url):
                make_login(engine, login)
            with engine.connect() as connection:
                click.echo(f"{display(database)} is at revision {migrations.current(connection) or 'base'}")


@click.command()
@format_option
def systems(style: str) -> None:
    """Every system that can be seeded.

    \b
    trninv systems
    """
    known = known_systems().systems
    titles = {system.slug: [source.title for source in system.sources(catalog())] for system in known}
    designs = {system.slug: Design.of(catalog(), system) for system in known}

    def table() -> None:
        rows(
            ["system", "chips", "servers", "domains", "HBM", "BF16", "aliases", "sources"],
            (
                [s.slug, *_sizes(s), *_carried(designs[s.slug]), ", ".join(s.aliases), _first(titles[s.slug])]
                for s in known
            ),
            spare=["sources", "BF16", "HBM"],
        )

    listed = [
        {
            "slug": system.slug,
            "name": system.name,
            "chips": system.chips,
            "servers": system.servers,
            "domains": system.domains,
            "memory": Capacity(designs[system.slug].memory.value or 0),
            "teraflops": designs[system.slug].teraflops,
            "aliases": system.aliases,
            "sources": [{"title": title} for title in titles[system.slug]],
        }
        for system in known
    ]
    show(style, listed, table)


@click.command()
@click.argument("system", nargs=-1)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Every system that trninv systems lists.",
)
@click.option("--name", metavar="CLUSTER", help="Name of the cluster, for one system.")
@click.option("--domains", type=click.IntRange(1), metavar="N", help="Of another size: N scale-up domains.")
@click.option("--chips", type=click.IntRange(1), metavar="N", help="Of another size: N chips, in whole domains.")
@click.option("--dry-run", is_flag=True, help="Only say what would be seeded.")
@click.pass_obj
def seed(  # one parameter an option
    database: str,
    system: tuple[str, ...],
    everything: bool,
    name: str | None,
    domains: int | None,
    chips: int | None,
    dry_run: bool,
) -> None:
    """Load systems, each in one transaction; what is there already is left alone.

    Without SYSTEM these are those that the seed documents describe, but for the largest; trninv systems lists all.

    \b
    trninv seed
    trninv seed u-trn2x64 --domains 16 --name lab
    """
    known = known_systems()
    if everything and system:
        raise UsageError("--all means every system: name none beside it")
    wanted = [known.get(slug) for slug in system] or (list(known.systems) if everything else _default_systems())
    if name is not None:
        if len(wanted) != 1:
            raise UsageError("--name is for one system: write trninv seed SYSTEM --name CLUSTER")
        name = cluster_name(name)
    if domains and chips:
        raise UsageError("--domains and --chips both give the size: choose one")
    if domains or chips:
        wanted = [one.resized(domains or one.domains_for(chips or 0)) for one in wanted]
    if dry_run:
        for one in wanted:
            click.echo(f"would seed {name or one.slug}: {_size(one)}")
        return
    with connect(database) as engine:
        _seed(engine, wanted, name)


@click.command()
@click.argument("cluster")
@click.option("--yes", is_flag=True, help="Do it: without, nothing is removed.")
@click.pass_obj
def unseed(database: str, cluster: str, yes: bool) -> None:
    """Remove a cluster and all it contains.

    \b
    trninv unseed lab --yes
    """
    with connect(database) as engine, writing(engine) as connection:
        place = _cluster(connection, cluster, "removed")
        what = " and ".join(counted(many, name) for name, many in stamp.ending(connection, place.id).items())
        if not yes:
            ends = f", and ends {what}" if what else ""
            raise UsageError(f"this removes {place.address} and all it contains{ends}: add --yes")
        with Progress(f"unseed {place.address}"):
            stamp.unseed(connection, place.id)
    click.echo(f"removed {place.address}{f', and ended {what}' if what else ''}")


@click.command()
@click.argument("cluster", required=False)
@click.option("--sealed", metavar="N:SHA256", help="A seal noted earlier, elsewhere; exit 1 where it is not there now.")
@format_option
@click.pass_obj
def verify(database: str, cluster: str | None, sealed: str | None, style: str) -> None:
    """Compare the database with the catalog: facts, models, every row and link, documented totals.

    And with its history, unless a CLUSTER is named: seals are computed anew, and parts, jobs, allocations and closed
    servers must be what the events lead to. Exit 1 where anything differs.

    \b
    trninv verify
    trninv verify u-trn2x64
    """
    anchor = read_seal(sealed) if sealed else None
    if anchor and cluster:
        raise UsageError("--sealed is of the whole history: leave out the cluster")
    with connect(database) as engine, reading(engine) as connection, Progress("verify") as progress:
        slug = _cluster(connection, cluster, "verified").address if cluster else None
        found = list(differences(connection, catalog(), known_systems(), slug, progress))
        progress("history")
        checked = [slug] if slug else [str(row["slug"]) for row in clusters_in(connection)]
        history = None if slug else chain.check(connection)
        found += () if history is None else kept(connection, history, anchor)
        untold = [] if history is None else list(uncompared(connection))

    def table() -> None:
        for one in found:
            say(f"{one.cluster or 'catalog'}: {one.table}: {one.what} {one.detail}")
        if not found:
            say(f"as the catalog says: {', '.join(checked) or 'facts (no cluster is seeded)'}")
        if not checked:
            hint("no cluster is seeded yet: trninv seed")
        if history:
            say(_told(history))
        for each in untold:
            say(f"not compared: {each}")

    of_history = {"history": history, "notCompared": untold} if history else {}
    show(style, {"checked": checked, "differences": found} | of_history, table)
    if found:
        raise click.exceptions.Exit(1)


def _told(history: Chain) -> str:
    """What can be said of a history that nobody edited."""
    sealed = f", sealed up to {history.sealed} by {history.sha256}" if history.sha256 else ""
    tail = f"; {counted(history.unsealed, 'event')} of plain SQL, which the next change seals"
    gone = f" after {history.archived}, which an archive has" if history.archived else ""
    return f"history: {counted(history.events, 'event')}{gone}{sealed}{tail if history.unsealed else ''}"


def _seed(engine: Engine, wanted: Iterable[System], name: str | None = None) -> None:
    for system in wanted:
        with writing(engine) as connection, Progress(name or system.slug) as progress:
            new = stamp.seed(connection, catalog(), system, name, progress)
        click.echo(f"{name or system.slug}: {f'seeded {_size(system)}' if new else 'already there'}")


def _sizes(system: System) -> list[str]:
    return [f"{number:,}" for number in (system.chips, system.servers, system.domains)]


def _size(system: System) -> str:
    return f"{counted(system.chips, 'chip')} in {counted(system.servers, 'server')}"


def _cluster(connection: Connection, address: str, done: str) -> Place:
    place = resolve(connection, address)
    if place.level != "cluster":
        raise WrongLevelError(f"{address} is a {place.level}: only whole clusters are {done}")
    return place


def _default_systems() -> list[System]:
    return [system for system in known_systems().systems if not (system.large or system.by_name)]


def _carried(design: Design) -> tuple[str, str]:
    """HBM and dense BF16 of all chips."""
    return str(design.memory), str(design.bf16)


def _first(sources: Sequence[str]) -> str:
    return f"{sources[0]} and {len(sources) - 1} more" if len(sources) > 1 else sources[0]
