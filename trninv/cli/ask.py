"""path, bandwidth, pool, bisection and their like: the questions, also of a wiring that things are supposed to lack."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any, TypeVar

import click

import trninv
from trninv.cli.output import Progress, counted, footnotes, format_option, rows, show
from trninv.errors import LimitError, UsageError, WorkerError
from trninv.routing.fleet import Fleet
from trninv.routing.results import (
    Answer,
    BandwidthAnswer,
    BisectionAnswer,
    CollectivesAnswer,
    CutTreeAnswer,
    DistanceAnswer,
    Limit,
    LinkRef,
    Path,
    PathAnswer,
    PlacementAnswer,
    PoolAnswer,
    ProfileAnswer,
    SweepAnswer,
    SweepClass,
)
from trninv.units import Bandwidth, Capacity

C = TypeVar("C", bound=Callable[..., Any])

_SHOWN = 40
"""Links of a cut that a table lists."""


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
    show(style, answer, lambda: _print_paths(answer))
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
    show(style, answer, lambda: _print_bandwidth(answer))
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
    show(style, answer, lambda: _print_pool(answer))


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
    show(style, answer, lambda: _print_bisection(answer))


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
    show(style, answer, lambda: _print_profile(answer))


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
    show(style, answer, lambda: _print_distances(answer))


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
    show(style, answer, lambda: _print_cut_tree(answer))


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
    show(style, answer, lambda: _print_collectives(answer))


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
    show(style, answer, lambda: _print_placement(answer))
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
    show(style, answer, lambda: _print_sweep(answer, top))


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


def _print_paths(answer: PathAnswer) -> None:
    if not answer.reachable:
        click.echo(f"no path from {answer.source} to {answer.target}: {answer.reason}")
    for number, found in enumerate(answer.paths, start=1):
        click.echo(f"path {number}: {_summary(found)}")
        rows(
            ["", "address", "one direction"],
            ([step.kind, step.address, step.bandwidth] for step in found.steps),
        )
    if answer.truncated:
        click.echo(f"{answer.equally_good:,} paths in all are as good as the first (-k lists more)")
    if answer.links:
        click.echo("all of the best together, link by link:")
        rows(
            ["from", "to", "paths over it", "share", "one direction"],
            ([of.source, of.target, f"{of.paths:,}", f"{of.share:.3f}", of.link.bandwidth] for of in answer.links),
        )
    _print_difference(answer)
    footnotes(answer)


def _summary(found: Path) -> str:
    if not found.hops:
        return "0 hops: the same chip"
    taken = "" if found.time is None else f", {found.time} for the message alone"
    return f"{counted(found.hops, 'hop')}, {found.bandwidth} one direction{taken}"


def _print_bandwidth(answer: BandwidthAnswer) -> None:
    click.echo(f"{answer.source} to {answer.target}")
    click.echo(f"widest path:  {_summary(answer.widest) if answer.widest else 'none'}")
    click.echo(f"maximum flow: {answer.maximum_flow} one direction ({answer.both_directions} both)")
    _print_cut("minimum cut", answer.minimum_cut, len(answer.minimum_cut))
    _print_difference(answer)
    footnotes(answer)


def _print_pool(answer: PoolAnswer) -> None:
    chips = counted(answer.chips, "chip")
    click.echo(f"{answer.of}: {answer.memory} on {chips} ({answer.own} own, {answer.remote} remote)")
    if answer.by_hops:
        rows(
            ["hops", "chips", "memory", "widest path", "ring delivers at once"],
            (
                [ring.hops, ring.chips, ring.memory, _span([chip.widest for chip in ring.reached]), ring.delivery]
                for ring in answer.by_hops
            ),
        )
    _print_difference(answer)
    footnotes(answer)


def _span(values: list[Bandwidth]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"


def _print_bisection(answer: BisectionAnswer) -> None:
    bounds = f"{answer.upper}" if answer.exact else f"between {answer.lower} and {answer.upper}"
    click.echo(f"{answer.of}: {bounds} one direction ({'exact' if answer.exact else 'proven bounds'})")
    click.echo(f"halves: {answer.side_a:,} and {answer.side_b:,} chips, balance {answer.balance}")
    click.echo(f"method: {answer.method}")
    if answer.nominal:
        low, high = answer.nominal.lower, answer.nominal.upper
        click.echo(f"with failed chips as fillers (NOMINAL): {low if low == high else f'{low} to {high}'}")
    _print_cut("cut", answer.cut, answer.cut_size)
    _print_difference(answer)
    footnotes(answer)


def _print_cut(name: str, links: tuple[LinkRef, ...], size: int) -> None:
    click.echo(f"{name}: {counted(size, 'link')}")
    for link in links[:_SHOWN]:
        click.echo(f"  {link.address}  {link.bandwidth}")
    if size > _SHOWN:
        listed = "all" if size == len(links) else f"the first {len(links):,}"
        click.echo(f"  … {size - _SHOWN:,} more (--format json lists {listed})")


def _print_profile(answer: ProfileAnswer) -> None:
    click.echo(f"{answer.of}: {counted(answer.chips, 'chip')}")
    rows(
        ["chips", "capacity to the others", "a chip"],
        (
            [split.chips, _span([split.lower, split.upper]), Bandwidth(split.upper // split.chips)]
            for split in answer.splits
        ),
    )
    footnotes(answer)


def _print_distances(answer: DistanceAnswer) -> None:
    click.echo(f"{answer.of}: {counted(answer.chips, 'chip')}, {counted(answer.pairs, 'pair')}")
    if answer.mean is not None:
        click.echo(f"diameter {counted(answer.diameter or 0, 'hop')}, mean {answer.mean:.3f}")
        rows(["hops", "pairs"], ([hops, f"{pairs:,}"] for hops, pairs in answer.by_hops))
    if answer.unreachable:
        click.echo(f"{counted(answer.unreachable, 'pair')} not joined")
    if answer.baseline and answer.baseline.mean is not None:
        click.echo(f"as it is: diameter {answer.baseline.diameter}, mean {answer.baseline.mean:.3f}")
    footnotes(answer)


def _print_cut_tree(answer: CutTreeAnswer) -> None:
    if answer.a is None:
        click.echo(f"{answer.of}: fewer than two chips are up")
    else:
        click.echo(f"worst connected: {answer.a} and {answer.b}, {answer.worst} one direction")
        click.echo(f"cut off by it: {', '.join(answer.cut_off[:8])}{' …' * (len(answer.cut_off) > 8)}")  # noqa: PLR2004
        _print_cut("minimum cut", answer.cut, len(answer.cut))
    if answer.baseline:
        click.echo(f"as it is: {answer.baseline.worst}")
    footnotes(answer)


def _print_collectives(answer: CollectivesAnswer) -> None:
    click.echo(f"{answer.of}: {counted(answer.chips, 'chip')}, each at most")
    named = {
        "all-to-all, sent": answer.all_to_all,
        "all-gather, bus": answer.all_gather,
        "reduce-scatter, bus": answer.reduce_scatter,
        "all-reduce, bus": answer.all_reduce,
        "all-reduce, data / time": answer.all_reduce_algorithm,
    }
    if answer.ring_all_reduce:
        named["all-reduce on rings, bus"] = answer.ring_all_reduce
    rows(["collective", "limit", "why"], ([name, _limit(limit), limit.method] for name, limit in named.items()))
    if answer.baseline:
        before = answer.baseline
        click.echo(f"as it is: all-to-all {_limit(before.all_to_all)}, all-gather {_limit(before.all_gather)}")
    footnotes(answer)


def _limit(limit: Limit) -> str:
    if limit.exact:
        return f"{limit.upper / 10**9:,.6g} GB/s"
    return f"{limit.lower / 10**9:,.6g} to {limit.upper / 10**9:,.6g} GB/s"


def _print_placement(answer: PlacementAnswer) -> None:
    if not answer.enough:
        click.echo(f"no chip reaches {answer.wanted} over scale-up links: at most {answer.memory}")
    click.echo(f"{answer.place}: {answer.memory} on {counted(len(answer.chips), 'chip')} within {answer.radius} hops")
    if answer.narrowest is not None:
        click.echo(f"widest paths of {answer.narrowest} or more; the others deliver {answer.delivery} at once")
    click.echo(f"chips: {', '.join(answer.chips)}")
    if answer.baseline:
        click.echo(f"as it is: {answer.baseline.place}, within {answer.baseline.radius} hops")
    footnotes(answer)


def _print_difference(answer: Answer) -> None:
    """What a scenario changes."""
    changed = answer.difference
    if changed is None:
        return
    parts = [
        "" if changed.hops is None else f"{changed.hops:+d} hops",
        "" if changed.bytes_per_second is None else f"{changed.bytes_per_second / 10**9:+,g} GB/s",
        "" if changed.chips is None else f"{changed.chips:+d} chips",
        "" if changed.bytes is None else f"{changed.bytes / 2**30:+,g} GiB",
    ]
    click.echo(f"against the wiring as it is: {', '.join(filter(None, parts))}")


def _print_sweep(answer: SweepAnswer, top: int) -> None:
    kinds = f"{counted(answer.failures, 'failure')} of {counted(len(answer.classes), 'kind')}"
    click.echo(f"{answer.of}: {answer.measure.lower().replace('_', ' ')} {_measured(answer, answer)}; {kinds}")
    rows(
        ["failed, for one", "alike", "then", "change"],
        (
            [" + ".join(row.failed), row.count, _measured(answer, row), _change(answer, row)]
            for row in answer.classes[:top]
        ),
    )
    if len(answer.classes) > top:
        click.echo(f"… {len(answer.classes) - top:,} more (--top, --format json)")
    footnotes(answer)


def _measured(answer: SweepAnswer, value: SweepAnswer | SweepClass) -> str:
    if value.lower is None or value.upper is None:
        return "not all joined"
    if answer.measure == "DIAMETER":
        return counted(value.upper, "hop")
    return _span([Bandwidth(value.lower), Bandwidth(value.upper)])


def _change(answer: SweepAnswer, row: SweepClass) -> str:
    if row.change is None:
        return ""
    if answer.measure == "DIAMETER":
        return f"{row.change:+d} hops"
    return f"{row.change / 10**9:+,g} GB/s" + (f" ({row.change / answer.upper:+.1%})" if answer.upper else "")
