"""path, bandwidth, pool, bisection: the four questions."""

import click

import trninv
from trninv.cli.output import counted, footnotes, format_option, rows, show
from trninv.routing.results import BandwidthAnswer, BisectionAnswer, LinkRef, Path, PathAnswer, PoolAnswer
from trninv.units import Bandwidth

_SHOWN = 40
"""Links of a cut that a table lists."""


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--by", type=click.Choice(["hops", "bandwidth"]), default="hops", show_default=True, help="What is best.")
@click.option("-k", default=1, show_default=True, help="How many paths.")
@click.option("--avoid", multiple=True, metavar="ADDRESS", help="Place or link (A--B) to stay clear of; repeatable.")
@format_option
@click.pass_obj
def path(database: str, a: str, b: str, by: str, k: int, avoid: tuple[str, ...], style: str) -> None:
    """How to get from A to B.

    \b
    trninv path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s2/c10
    trninv path trn3-gen2/d0/s0/c0 trn3-gen2/d0/s35/c3 --by bandwidth -k 3
    """
    with trninv.open(database) as fleet:
        answer = fleet.path(a, b, by, k, avoid)
    show(style, answer, lambda: _print_paths(answer))
    if not answer.reachable:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("a")
@click.argument("b")
@format_option
@click.pass_obj
def bandwidth(database: str, a: str, b: str, style: str) -> None:
    """What flows between A and B: widest path, maximum flow, minimum cut.

    \b
    trninv bandwidth u-trn2x64/d0/s0 u-trn2x64/d0/s2
    """
    with trninv.open(database) as fleet:
        answer = fleet.bandwidth(a, b)
    show(style, answer, lambda: _print_bandwidth(answer))
    if not answer.maximum_flow:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("address")
@click.option("--hops", type=int, help="Leave out chips further away.")
@click.option("--min-bandwidth", metavar="X", help='Leave out narrower widest paths: "64 GB/s".')
@format_option
@click.pass_obj
def pool(database: str, address: str, hops: int | None, min_bandwidth: str | None, style: str) -> None:
    """How much memory ADDRESS can reach over scale-up links.

    \b
    trninv pool u-trn2x64/d0/s0/c0 --hops 2
    """
    with trninv.open(database) as fleet:
        answer = fleet.memory_pool(address, hops, min_bandwidth)
    show(style, answer, lambda: _print_pool(answer))


@click.command()
@click.argument("scope")
@click.option("--chips", multiple=True, metavar="ADDRESS", help="Only these chips of the scope; repeatable.")
@format_option
@click.pass_obj
def bisection(database: str, scope: str, chips: tuple[str, ...], style: str) -> None:
    """The least capacity between two halves of SCOPE.

    \b
    trninv bisection u-trn2x64
    trninv bisection trn3-gen2/d0 --chips trn3-gen2/d0/s0 --chips trn3-gen2/d0/s18
    """
    with trninv.open(database) as fleet:
        answer = fleet.bisection(scope, chips)
    show(style, answer, lambda: _print_bisection(answer))


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
    footnotes(answer)


def _summary(found: Path) -> str:
    return f"{counted(found.hops, 'hop')}, {found.bandwidth} one direction" if found.hops else "0 hops: the same chip"


def _print_bandwidth(answer: BandwidthAnswer) -> None:
    click.echo(f"{answer.source} to {answer.target}")
    click.echo(f"widest path:  {_summary(answer.widest) if answer.widest else 'none'}")
    click.echo(f"maximum flow: {answer.maximum_flow} one direction ({answer.both_directions} both)")
    _print_cut("minimum cut", answer.minimum_cut, len(answer.minimum_cut))
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
    footnotes(answer)


def _print_cut(name: str, links: tuple[LinkRef, ...], size: int) -> None:
    click.echo(f"{name}: {counted(size, 'link')}")
    for link in links[:_SHOWN]:
        click.echo(f"  {link.address}  {link.bandwidth}")
    if size > _SHOWN:
        listed = "all" if size == len(links) else f"the first {len(links):,}"
        click.echo(f"  … {size - _SHOWN:,} more (--format json lists {listed})")
