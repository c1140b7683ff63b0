"""The answers of the routing questions as text for a terminal."""

import click

from trninv.cli.output import footnotes, rows
from trninv.routing.results import Answer, BandwidthAnswer, BisectionAnswer, LinkRef, Path, PathAnswer, PoolAnswer
from trninv.routing.surveys import (
    CollectivesAnswer,
    CutTreeAnswer,
    DistanceAnswer,
    Limit,
    PlacementAnswer,
    ProfileAnswer,
    SweepAnswer,
    SweepClass,
)
from trninv.units import Bandwidth, counted

_SHOWN = 40
"""Links of a cut that a table lists."""


def print_paths(answer: PathAnswer) -> None:
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


def print_bandwidth(answer: BandwidthAnswer) -> None:
    click.echo(f"{answer.source} to {answer.target}")
    click.echo(f"widest path:  {_summary(answer.widest) if answer.widest else 'none'}")
    click.echo(f"maximum flow: {answer.maximum_flow} one direction ({answer.both_directions} both)")
    _print_cut("minimum cut", answer.minimum_cut, len(answer.minimum_cut))
    _print_difference(answer)
    footnotes(answer)


def print_pool(answer: PoolAnswer) -> None:
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


def print_bisection(answer: BisectionAnswer) -> None:
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


def print_profile(answer: ProfileAnswer) -> None:
    click.echo(f"{answer.of}: {counted(answer.chips, 'chip')}")
    rows(
        ["chips", "capacity to the others", "a chip"],
        (
            [split.chips, _span([split.lower, split.upper]), Bandwidth(split.upper // split.chips)]
            for split in answer.splits
        ),
    )
    footnotes(answer)


def print_distances(answer: DistanceAnswer) -> None:
    click.echo(f"{answer.of}: {counted(answer.chips, 'chip')}, {counted(answer.pairs, 'pair')}")
    if answer.mean is not None:
        click.echo(f"diameter {counted(answer.diameter or 0, 'hop')}, mean {answer.mean:.3f}")
        rows(["hops", "pairs"], ([hops, f"{pairs:,}"] for hops, pairs in answer.by_hops))
    if answer.unreachable:
        click.echo(f"{counted(answer.unreachable, 'pair')} not joined")
    if answer.baseline and answer.baseline.mean is not None:
        click.echo(f"as it is: diameter {answer.baseline.diameter}, mean {answer.baseline.mean:.3f}")
    footnotes(answer)


def print_cut_tree(answer: CutTreeAnswer) -> None:
    if answer.a is None:
        click.echo(f"{answer.of}: fewer than two chips are up")
    else:
        click.echo(f"worst connected: {answer.a} and {answer.b}, {answer.worst} one direction")
        click.echo(f"cut off by it: {', '.join(answer.cut_off[:8])}{' …' * (len(answer.cut_off) > 8)}")  # noqa: PLR2004
        _print_cut("minimum cut", answer.cut, len(answer.cut))
    if answer.baseline:
        click.echo(f"as it is: {answer.baseline.worst}")
    footnotes(answer)


def print_collectives(answer: CollectivesAnswer) -> None:
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


def print_placement(answer: PlacementAnswer) -> None:
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


def print_sweep(answer: SweepAnswer, top: int) -> None:
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
