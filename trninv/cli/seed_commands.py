"""Seed, verify and remove clusters, and set up a first run with `up`."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext

import click
from sqlalchemy import Connection, Engine

import trninv
from trninv.catalog.derived import SystemTotals
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import System, default_systems
from trninv.cli.messages import print_hint, print_wrapped
from trninv.cli.output import format_option, print_table, print_value
from trninv.cli.progress_line import Progress
from trninv.database import migration
from trninv.database.engine import read_transaction, redacted_url, temporary_engine, write_transaction
from trninv.errors import TrninvError, UsageError, WrongLevelError
from trninv.inventory.address.lookup import NO_CLUSTER_MESSAGE, Place, resolve_place
from trninv.inventory.address.syntax import parse_cluster_name
from trninv.inventory.database_contents import list_clusters
from trninv.inventory.seeding import cluster_seeding, verification
from trninv.inventory.state import hash_chain
from trninv.inventory.state.hash_chain import ChainRestart, ChainStatus
from trninv.inventory.state.replay import unverifiable
from trninv.inventory.state.seals import parse_anchor
from trninv.units import Capacity, pluralize

_MAX_NAMED = 7
"""The most clusters that `up` names."""
_TOUR_PLACES = "u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s2/c10", "u-trn2x64"


@click.command()
@click.option("--check", "checking", is_flag=True, help="Send one request to every route of the service, then stop.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port to listen on.")
@click.pass_context
def up(context: click.Context, checking: bool, host: str, port: int) -> None:
    """Migrate, seed, answer four questions and serve the explorer.

    Only a database without clusters is seeded.

    \b
    trninv up --check
    """
    with temporary_engine(context.obj) as engine:
        migration.migrate(engine)
        with read_transaction(engine) as connection:
            slugs = [str(row["slug"]) for row in list_clusters(connection)]
        if not slugs:
            _seed_systems(engine, _seeded_by_default())
    click.echo(f"database: {redacted_url(context.obj)}")
    if slugs:
        more = ", …" if len(slugs) > _MAX_NAMED else ""
        clusters = f"{pluralize(len(slugs), 'cluster')} ({', '.join(slugs[:_MAX_NAMED])}{more})"
        click.echo(f"it has {clusters}, so nothing is seeded; trninv seed adds the documented systems")
    try:
        if checking or not slugs or _TOUR_PLACES[-1] in slugs:
            _run_tour(context.obj)
    except TrninvError as error:  # not fatal: the fleet may have been changed since it was seeded
        click.echo(f"the four questions: {error}")
        if checking:
            raise
    from trninv.cli import self_test, serve_commands  # noqa: PLC0415 # slow to import

    if checking:
        request_count = self_test.check_service(context.obj)
        click.echo(f"service:   {request_count} requests over HTTP, every route at least once: all answered correctly")
    else:
        context.invoke(serve_commands.serve, host=host, port=port)


def _run_tour(database: str) -> None:
    """Ask four questions about a seeded system and print the answers."""
    source, target, scope = _TOUR_PLACES
    with trninv.open(database) as fleet:
        path = fleet.path(source, target)
        bandwidth = fleet.bandwidth(source, target)
        memory_pool = fleet.memory_pool(source)
        halves = fleet.bisection(scope)
    best = f"{path.paths[0].hops} hops, {path.paths[0].bandwidth} one direction" if path.paths else f"no: {path.reason}"
    click.echo(f"path:      {source} to {target}: {best}")
    click.echo(f"bandwidth: {source} to {target}: {bandwidth.maximum_flow} one direction over all paths")
    click.echo(f"pool:      {source}: {memory_pool.memory} on {memory_pool.chips} chips")
    click.echo(f"bisection: {scope}: {halves.upper} one direction ({'exact' if halves.exact else 'upper bound'})")


@click.command()
@format_option
def systems(style: str) -> None:
    """List the systems that can be seeded.

    \b
    trninv systems
    """
    catalog_systems = default_systems().systems
    titles = {system.slug: [source.title for source in system.sources(default_catalog())] for system in catalog_systems}
    designs = {system.slug: SystemTotals.from_system(default_catalog(), system) for system in catalog_systems}

    def table() -> None:
        print_table(
            ["system", "chips", "servers", "domains", "HBM", "BF16", "aliases", "sources"],
            (
                [
                    system.slug,
                    *_size_cells(system),
                    *_total_cells(designs[system.slug]),
                    ", ".join(system.aliases),
                    _abbreviate_sources(titles[system.slug]),
                ]
                for system in catalog_systems
            ),
            optional_columns=["sources", "BF16", "HBM"],
        )

    rows_json = [
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
        for system in catalog_systems
    ]
    print_value(style, rows_json, table)


@click.command()
@click.argument("system", nargs=-1)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Seed every system that trninv systems lists.",
)
@click.option(
    "--name",
    "names",
    metavar="CLUSTER",
    multiple=True,
    help="Name of the cluster, for one system. Repeat it to seed several clusters in one transaction, which is faster.",
)
@click.option(
    "--domains", type=click.IntRange(1), metavar="N", help="Seed N scale-up domains instead of the documented size."
)
@click.option(
    "--chips",
    type=click.IntRange(1),
    metavar="N",
    help="Seed N chips, in whole domains, instead of the documented size.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be seeded without changing anything.")
@click.pass_obj
def seed(  # one parameter per option
    database: str,
    system: tuple[str, ...],
    everything: bool,
    names: tuple[str, ...],
    domains: int | None,
    chips: int | None,
    dry_run: bool,
) -> None:
    """Seed systems as clusters, each in one transaction.

    Existing clusters stay unchanged. Without SYSTEM, all documented systems except the largest are seeded. To list all
    systems, run trninv systems.

    \b
    trninv seed
    trninv seed u-trn2x64 --domains 16 --name lab
    trninv seed u-trn2x64 --domains 16 --name east --name west
    """
    catalog_systems = default_systems()
    if everything and system:
        raise UsageError("--all seeds every system; omit SYSTEM")
    chosen = [catalog_systems.get(slug) for slug in system] or (
        list(catalog_systems.systems) if everything else _seeded_by_default()
    )
    if names and len(chosen) != 1:
        raise UsageError("--name needs exactly one system: trninv seed SYSTEM --name CLUSTER")
    names = tuple(dict.fromkeys(map(parse_cluster_name, names)))
    if domains and chips:
        raise UsageError("--domains and --chips both set the size; choose one")
    if domains or chips:
        chosen = [chosen_system.resized(domains or chosen_system.domains_for(chips or 0)) for chosen_system in chosen]
    if dry_run:
        for chosen_system in chosen:
            for name in names or (chosen_system.slug,):
                click.echo(f"would seed {name}: {_format_size(chosen_system)}")
        return
    with temporary_engine(database) as engine:
        _seed_systems(engine, chosen, names)


@click.command()
@click.argument("cluster")
@click.option("--yes", is_flag=True, help="Confirm the removal.")
@click.pass_obj
def unseed(database: str, cluster: str, yes: bool) -> None:
    """Remove a cluster and everything in it.

    \b
    trninv unseed lab --yes
    """
    with temporary_engine(database) as engine, write_transaction(engine) as connection:
        place = _require_cluster(connection, cluster, "removed")
        ended_counts = " and ".join(
            pluralize(count, name) for name, count in cluster_seeding.unseed_impact(connection, place.id).items()
        )
        if not yes:
            consequence = f", and ends {ended_counts}" if ended_counts else ""
            raise UsageError(f"this removes {place.address} and everything in it{consequence}: add --yes")
        with Progress(f"unseed {place.address}"):
            cluster_seeding.unseed(connection, place.id)
    click.echo(f"removed {place.address}{f', and ended {ended_counts}' if ended_counts else ''}")


@click.command()
@click.argument("cluster", required=False)
@click.option(
    "--sealed",
    metavar="N:SHA256",
    help="A seal that you noted earlier; exit with 1 if the history does not contain it.",
)
@format_option
@click.pass_obj
def verify(database: str, cluster: str | None, sealed: str | None, style: str) -> None:
    """Compare the database with the catalog and its history.

    Facts, models, every row and link, and documented totals must match the catalog. Without CLUSTER, the history is
    checked too: seals are recomputed, and parts, jobs, allocations and cordons must be in the state that the events
    lead to. The exit status is 1 if anything differs.

    \b
    trninv verify
    trninv verify u-trn2x64
    """
    anchor = parse_anchor(sealed) if sealed else None
    if anchor and cluster:
        raise UsageError("--sealed checks the whole history; omit CLUSTER")
    with temporary_engine(database) as engine, read_transaction(engine) as connection, Progress("verify") as progress:
        slug = _require_cluster(connection, cluster, "verified").address if cluster else None
        mismatches = list(verification.verify(connection, default_catalog(), default_systems(), slug, progress))
        progress("history")
        checked_clusters = [slug] if slug else [str(row["slug"]) for row in list_clusters(connection)]
        history = None if slug else hash_chain.verify_chain(connection)
        mismatches += () if history is None else verification.verify_history(connection, history, anchor)
        not_compared = [] if history is None else list(unverifiable(connection))

    def table() -> None:
        for mismatch in mismatches:
            print_wrapped(f"{mismatch.cluster or 'catalog'}: {mismatch.table}: {mismatch.kind} {mismatch.detail}")
        if not mismatches:
            print_wrapped(f"matches the catalog: {', '.join(checked_clusters) or 'facts (no cluster is seeded)'}")
        if not checked_clusters:
            print_hint(NO_CLUSTER_MESSAGE)
        if history:
            print_wrapped(_render_history(history))
            if history.restart:
                print_wrapped(_render_restart(history.restart))
        for name in not_compared:
            print_wrapped(f"not compared: {name}")

    history_json = {"history": history, "notCompared": not_compared} if history else {}
    print_value(style, {"checked": checked_clusters, "differences": mismatches} | history_json, table)
    if mismatches:
        raise click.exceptions.Exit(1)


def _render_history(history: ChainStatus) -> str:
    """Return a line about the history: its events, the newest seal, and events that are archived or not sealed yet."""
    sealed = f", sealed up to {history.sealed} by {history.sha256}" if history.sha256 else ""
    unsealed = f"; {pluralize(history.unsealed, 'event')} from plain SQL, to be sealed by the next change"
    archived = f" after {history.archived}, the last event that only an archive has" if history.archived else ""
    return f"history: {pluralize(history.events, 'event')}{archived}{sealed}{unsealed if history.unsealed else ''}"


def _render_restart(restart: ChainRestart) -> str:
    """Return a line about the last seal before all events were sealed again."""
    return (
        f"schema version {restart.schema_version} renamed actions and sealed all events again: before that, events up "
        f"to {restart.event} were sealed by {restart.sha256}"
    )


def _seed_systems(engine: Engine, chosen: Iterable[System], names: Sequence[str] = ()) -> None:
    for system in chosen:
        slugs = names or (system.slug,)
        with write_transaction(engine) as connection:
            new_slugs = _seed_clusters(connection, system, slugs)
        for slug in slugs:
            click.echo(f"{slug}: {f'seeded {_format_size(system)}' if slug in new_slugs else 'already there'}")


def _seed_clusters(connection: Connection, system: System, slugs: Sequence[str]) -> list[str]:
    """Seed a system as a cluster for each slug, and return the slugs that did not exist."""
    catalog = default_catalog()
    is_together = len(slugs) > 1
    with (
        Progress(", ".join(slugs)) as progress,
        cluster_seeding.seeding_together(connection, catalog, system, slugs) if is_together else nullcontext(),
    ):
        return [slug for slug in slugs if cluster_seeding.seed(connection, catalog, system, slug, progress)]


def _size_cells(system: System) -> list[str]:
    return [f"{number:,}" for number in (system.chips, system.servers, system.domains)]


def _format_size(system: System) -> str:
    return f"{pluralize(system.chips, 'chip')} in {pluralize(system.servers, 'server')}"


def _require_cluster(connection: Connection, address: str, verb: str) -> Place:
    place = resolve_place(connection, address)
    if place.level != "cluster":
        raise WrongLevelError(f"{address} is a {place.level}: only whole clusters can be {verb}")
    return place


def _seeded_by_default() -> list[System]:
    return [system for system in default_systems().systems if not (system.is_opt_in or system.is_by_name)]


def _total_cells(design: SystemTotals) -> tuple[str, str]:
    """Return the total HBM and dense BF16 throughput of all chips."""
    return str(design.memory), str(design.bf16)


def _abbreviate_sources(sources: Sequence[str]) -> str:
    return f"{sources[0]} and {len(sources) - 1} more" if len(sources) > 1 else sources[0]
