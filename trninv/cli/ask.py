"""path, bandwidth, pool, bisection and their like: the questions, also of a wiring that things are supposed to lack."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any, TypeVar

import click

import trninv
from trninv.cli.answers import (
    print_bandwidth,
    print_bisection,
    print_collectives,
    print_cut_tree,
    print_distances,
    print_paths,
    print_placement,
    print_pool,
    print_profile,
    print_sweep,
)
from trninv.cli.output import Progress, format_option, show
from trninv.errors import LimitError, UsageError, WorkerError
from trninv.routing.fleet import Fleet
from trninv.units import Capacity

C = TypeVar("C", bound=Callable[..., Any])


def supposing(command: C) -> C:
    """The options of what if."""
    down = click.option("--down", multiple=True, metavar="ADDRESS", help="Suppose that it carries nothing; repeatable.")
    part = "Suppose that it carries this part, as ADDRESS=0.5; repeatable."
    return down(click.option("--derate", multiple=True, metavar="ADDRESS=F", help=part)(command))


@contextmanager
def asking(database: str, down: tuple[str, ...], derate: tuple[str, ...]) -> Iterator[Fleet]:
    """The fleet, or what it would be."""
    with trninv.open(database) as fleet:
        if not (down or derate):
            yield fleet
            return
        factors: dict[str, float] = {}
        for each in derate:
            address, _, factor = each.rpartition("=")
            try:
                factors[address] = min(float(factor), factors.get(address, 1.0))
            except ValueError:
                raise LimitError(f"--derate {each}: write ADDRESS=FACTOR, such as u-trn2x64/d0/s0/c0=0.5") from None
        yield fleet.what_if(down, factors)


@click.command()
@click.argument("a")
@click.argument("b")
@click.option(
    "--by", type=click.Choice(["hops", "bandwidth", "time"]), default="hops", show_default=True, help="What is best."
)
@click.option("--bytes", "message", default="0 B", metavar="SIZE", help='Of the message, by time: "1 MiB".')
@click.option("-k", default=1, show_default=True, help="How many paths.")
@click.option("--avoid", multiple=True, metavar="ADDRESS", help="Place or link (A--B) to stay clear of; repeatable.")
@click.option("--all", "shape", flag_value="all", help="All best paths as one graph: each link's part of them.")
@click.option("--link-disjoint", "shape", flag_value="link_disjoint", help="Up to k paths that share no link.")
@click.option("--node-disjoint", "shape", flag_value="node_disjoint", help="Up to k paths that share no node.")
@supposing
@format_option
@click.pass_obj
def path(  # one parameter an option
    database: str,
    a: str,
    b: str,
    by: str,
    message: str,
    k: int,
    avoid: tuple[str, ...],
    shape: str | None,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    style: str,
) -> None:
    """How to get from A to B.

    \b
    trninv path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s2/c10
    trninv path trn3-gen2/d0/s0/c0 trn3-gen2/d0/s35/c3 --by bandwidth -k 3
    trninv path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s0/c5 --by time --bytes "1 MiB" --down u-trn2x64/d0/s0/c1
    """
    size = Capacity.parse(message if message.strip("0123456789 ") else f"{message} B")
    with asking(database, down, derate) as fleet:
        answer = fleet.path(a, b, by, k, avoid, message=size, shape=shape or "best")
    show(style, answer, lambda: print_paths(answer))
    if not answer.reachable:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("a")
@click.argument("b")
@supposing
@format_option
@click.pass_obj
def bandwidth(database: str, a: str, b: str, down: tuple[str, ...], derate: tuple[str, ...], style: str) -> None:
    """What flows between A and B: widest path, maximum flow, minimum cut.

    \b
    trninv bandwidth u-trn2x64/d0/s0 u-trn2x64/d0/s2
    trninv bandwidth u-trn2x64/d0/s0 u-trn2x64/d0/s2 --down u-trn2x64/d0/s1
    """
    with asking(database, down, derate) as fleet:
        answer = fleet.bandwidth(a, b)
    show(style, answer, lambda: print_bandwidth(answer))
    if not answer.maximum_flow:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("address")
@click.option("--hops", type=int, help="Leave out chips further away.")
@click.option("--min-bandwidth", metavar="X", help='Leave out narrower widest paths: "64 GB/s".')
@supposing
@format_option
@click.pass_obj
def pool(  # one parameter an option
    database: str,
    address: str,
    hops: int | None,
    min_bandwidth: str | None,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    style: str,
) -> None:
    """How much memory ADDRESS can reach over scale-up links.

    \b
    trninv pool u-trn2x64/d0/s0/c0 --hops 2
    """
    with asking(database, down, derate) as fleet:
        answer = fleet.memory_pool(address, hops, min_bandwidth)
    show(style, answer, lambda: print_pool(answer))


@click.command()
@click.argument("scope")
@click.option("--chips", multiple=True, metavar="ADDRESS", help="Only these chips of the scope; repeatable.")
@click.option("--transit", is_flag=True, help="Other healthy chips of their domains may forward.")
@supposing
@format_option
@click.pass_obj
def bisection(  # one parameter an option
    database: str,
    scope: str,
    chips: tuple[str, ...],
    transit: bool,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    style: str,
) -> None:
    """The least capacity between two halves of SCOPE.

    \b
    trninv bisection u-trn2x64
    trninv bisection u-trn2x64 --down u-trn2x64/d0/s0/c0
    trninv bisection trn3-gen2/d0 --chips trn3-gen2/d0/s0 --chips trn3-gen2/d0/s18
    """
    with asking(database, down, derate) as fleet:
        answer = fleet.bisection(scope, chips, transit=transit)
    show(style, answer, lambda: print_bisection(answer))


@click.command()
@click.argument("scope")
@supposing
@format_option
@click.pass_obj
def profile(database: str, scope: str, down: tuple[str, ...], derate: tuple[str, ...], style: str) -> None:
    """How well a job of 1, 2, … chips of SCOPE is connected to the rest, at best.

    \b
    trninv profile trn2-16.48xlarge
    """
    with asking(database, down, derate) as fleet:
        answer = fleet.profile(scope)
    show(style, answer, lambda: print_profile(answer))


@click.command()
@click.argument("scope")
@supposing
@format_option
@click.pass_obj
def distances(database: str, scope: str, down: tuple[str, ...], derate: tuple[str, ...], style: str) -> None:
    """How many hops apart the chips of SCOPE are: diameter, mean, distribution.

    \b
    trninv distances u-trn2x64
    """
    with asking(database, down, derate) as fleet:
        answer = fleet.distances(scope)
    show(style, answer, lambda: print_distances(answer))


@click.command("cut-tree")
@click.argument("scope")
@supposing
@format_option
@click.pass_obj
def cut_tree(database: str, scope: str, down: tuple[str, ...], derate: tuple[str, ...], style: str) -> None:
    """Which pair of chips of SCOPE is worst connected (the Gomory-Hu tree).

    \b
    trninv cut-tree u-trn2x64 --down u-trn2x64/d0/s0/c0--u-trn2x64/d0/s0/c1
    """
    with asking(database, down, derate) as fleet:
        answer = fleet.cut_tree(scope)
    show(style, answer, lambda: print_cut_tree(answer))


@click.command()
@click.argument("scope")
@supposing
@format_option
@click.pass_obj
def collectives(database: str, scope: str, down: tuple[str, ...], derate: tuple[str, ...], style: str) -> None:
    """What the wiring allows all-to-all, all-gather and all-reduce of SCOPE's chips at most.

    \b
    trninv collectives u-trn2x64
    trninv collectives u-trn2x64 --down u-trn2x64/d0/s0/c0--u-trn2x64/d0/s0/c1
    """
    with asking(database, down, derate) as fleet:
        answer = fleet.collectives(scope)
    show(style, answer, lambda: print_collectives(answer))


@click.command()
@click.argument("scope")
@click.argument("memory")
@click.option("--here", is_flag=True, help="Around SCOPE itself, not around its best chip.")
@supposing
@format_option
@click.pass_obj
def place(  # one parameter an option
    database: str, scope: str, memory: str, here: bool, down: tuple[str, ...], derate: tuple[str, ...], style: str
) -> None:
    """Where a job that needs MEMORY fits best in SCOPE: the fewest, nearest, best linked chips that hold it.

    \b
    trninv place u-trn2x64 "1,000 GiB"
    trninv place u-trn2x64/d0/s1/c5 "1,000 GiB" --here
    """
    with asking(database, down, derate) as fleet:
        answer = fleet.placement(scope, memory, best=not here)
    show(style, answer, lambda: print_placement(answer))
    if not answer.enough:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("scope")
@click.option(
    "--fail", type=click.Choice(["link", "chip", "switch"]), default="link", show_default=True, help="What fails."
)
@click.option(
    "--measure",
    type=click.Choice(["bisection", "nominal", "all-gather", "all-to-all", "worst-flow", "diameter"]),
    default="bisection",
    show_default=True,
    help="What is measured.",
)
@click.option("--pairs", is_flag=True, help="Every two of them together.")
@click.option(
    "--limit", type=click.IntRange(1), default=2_000, show_default=True, help="Classes of failures that may be solved."
)
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, help="Rows that a table shows.")
@click.option("--journal", type=click.Path(dir_okay=False, path_type=FilePath), help="Keep results; go on from them.")
@click.option("--scheduler", metavar="TCP://…", help="A Dask cluster that does the work (pip install trninv[dask]).")
@supposing
@format_option
@click.pass_obj
def sweep(  # one parameter an option
    database: str,
    scope: str,
    fail: str,
    measure: str,
    pairs: bool,
    limit: int,
    top: int,
    journal: FilePath | None,
    scheduler: str | None,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    style: str,
) -> None:
    """Which single failure (or pair) in SCOPE does the most damage.

    Failures that a symmetry of the wiring maps onto each other are solved once and counted.

    \b
    trninv sweep u-trn2x64 --fail link --measure all-gather
    trninv sweep trn3-gen1 --fail chip --measure nominal --journal gen1.jsonl
    """
    with asking(database, down, derate) as fleet, _executor(scheduler) as executor, Progress(scope) as progress:
        answer = fleet.sweep(
            scope, fail, measure, pairs=pairs, most=limit, executor=executor, journal=journal, progress=progress
        )
    show(style, answer, lambda: print_sweep(answer, top))


@contextmanager
def _executor(scheduler: str | None) -> Iterator[Executor | None]:
    """A Dask cluster's executor; None stands for processes of one's own."""
    if scheduler is None:
        yield None
        return
    try:
        from distributed import Client  # noqa: PLC0415 # an extra
    except ImportError:
        raise UsageError("--scheduler needs Dask: pip install 'trninv[dask]'") from None
    try:
        client = Client(scheduler, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise WorkerError(f"no Dask scheduler at {scheduler}: {str(error).partition(chr(10))[0]}") from None
    with client:
        yield client.get_executor()
