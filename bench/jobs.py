"""Measure placement in a fleet that is two thirds full: candidates, free capacity, plans, allocate and release."""

import itertools
import random
import statistics
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import networkx as nx
from networkx.algorithms.isomorphism import GraphMatcher
from sqlalchemy import Connection, Engine, and_, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError

import postgres
import trninv
from bench.measure import NAME, RAINIER, Row, median_seconds, seed_cluster
from bench.planning import capacity_rows, plan_rows
from trninv.database.bulk_load import bulk_insert
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.inventory.state.hash_chain import record_change
from trninv.placement.candidates.free_blocks import largest_blocks
from trninv.placement.candidates.free_capacity import FreeCapacity, read_capacity
from trninv.placement.candidates.placement_model import placement_model, read_legal_sets
from trninv.placement.placement_fleet import Fleet
from trninv.solvers.torus_blocks import unpack_masks

_DOMAIN, _SERVER, _ROW = 64, 16, 4
"""Chips of a domain, of a server, and of a row of a server's torus."""
_MARK_PLACEMENT, _MARK_CACHED_PLACEMENT = 0.05, 0.015
_MARK_LARGEST, _MARK_CACHED_LARGEST, _MARK_STATE = 0.05, 0.01, 0.01
"""Marks in seconds, at Project Rainier."""
_MARK_WRITES = 1.5
"""The accepted ratio to plain SQL, which checks nothing and seals no events."""
_WRITES = 15
"""How often a write is measured."""
_SAMPLED = 20
"""Domains that networkx searches."""
_RACES, _RACE_CHIPS = 10_000, 64
"""Racing transactions, and the chips that they compete for."""


def job_rows(directory: Path, domains: int) -> Iterator[Row]:
    with (
        tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as place,
        postgres.server(Path(place)) as pg,
    ):
        for name, url in (("SQLite", f"sqlite:///{directory}/fleet.db"), ("PostgreSQL", pg.format("postgres"))):
            seed_cluster(url, domains)
            with temporary_engine(url) as engine, write_transaction(engine) as connection:
                allocated = _fill(connection, domains)
            with trninv.open(url) as fleet:
                yield from _placement_rows(
                    fleet, name, f"{allocated:,} of {_DOMAIN * domains:,} chips allocated", domains
                )
                yield from plan_rows(fleet, name, domains)
                yield from capacity_rows(fleet, name, domains)
                yield from _allocation_rows(fleet, name)
                yield from _state_rows(fleet, name, domains)
                yield _race_row(fleet.engine, name)


def _fill(connection: Connection, domains: int) -> int:
    """Allocate half of the servers to one job each, and a third of the rows of the others; return how many chips."""
    draw = random.Random(7)
    first = connection.scalar(text("SELECT first_node_id FROM cluster"))
    nodes = placement_model("u-trn2x64").node_count
    jobs: list[tuple[object, ...]] = []
    chips: list[tuple[object, ...]] = []
    for domain in range(domains):
        for server in range(_DOMAIN // _SERVER):
            parts = (
                [(0, _SERVER)]
                if draw.random() < 1 / 2
                else [(row, _ROW) for row in range(0, _SERVER, _ROW) if draw.random() < 1 / 3]
            )
            for start, size in parts:
                key = len(jobs) + 1
                values = {"id": key, "cluster_id": 1, "name": f"j{key}", "system": "bench", "external_id": str(key)}
                values |= {"started_at": "x", "pinned": 0, "who": "bench", "place": f"{NAME}/d{domain}/s{server}"}
                jobs.append(tuple(map(values.get, TABLES["job"].c.keys())))
                first_chip = first + domain * nodes + server * _SERVER + start
                chips += [(len(chips) + 1 + n, key, first_chip + n, "work", "x", None) for n in range(size)]
    with record_change(connection, who="bench", why="", source="import"):
        bulk_insert(connection, TABLES["job"], jobs)
        bulk_insert(connection, TABLES["allocation"], chips)
    return len(chips)


def _placement_rows(fleet: Fleet, name: str, note: str, domains: int) -> Iterator[Row]:
    def read() -> FreeCapacity:
        with fleet.open_snapshot() as reader:
            return read_capacity(reader, NAME)

    capacity = read()
    free, torus = unpack_masks(capacity.free), capacity.model.torus
    assert torus
    boxes = [block.mask for shape in torus.orientations((2, 2, 4)) for block in torus.blocks(shape)]
    all_boxes = sorted(torus.shape_by_mask, key=int.bit_count, reverse=True)
    answer = fleet.placements(NAME, "2x2x4")
    assert answer.domains == sum(any(mask & box == box for box in boxes) for mask in free)
    loop_seconds = median_seconds(lambda: [[box for box in boxes if mask & box == box] for mask in free], 3)
    loop_largest_seconds = median_seconds(
        lambda: [next((box for box in all_boxes if mask & box == box), 0) for mask in free], 1
    )

    def ask() -> object:
        return fleet.placements(NAME, "2x2x4")

    def ask_uncached() -> object:
        return Fleet(fleet.engine).placements(NAME, "2x2x4")  # a fleet without caches, as after a change

    uncached_seconds, cached_seconds = median_seconds(ask_uncached), median_seconds(ask)
    largest_seconds = median_seconds(lambda: fleet.free(NAME))
    with fleet.connect() as connection:
        legal = read_legal_sets(connection, capacity.model)
    cached_largest_seconds = median_seconds(lambda: largest_blocks(capacity, legal))
    loop = "a Python loop over prepared masks, no SQL"
    rows = (
        ("best 2×2×4 of the fleet, with SQL", uncached_seconds, loop_seconds, _MARK_PLACEMENT),
        ("best 2×2×4 of the fleet, cached sets", cached_seconds, loop_seconds, _MARK_CACHED_PLACEMENT),
        ("largest free block of every domain", largest_seconds, loop_largest_seconds, _MARK_LARGEST),
        (
            "largest free block of every domain, cached sets",
            cached_largest_seconds,
            loop_largest_seconds,
            _MARK_CACHED_LARGEST,
        ),
    )
    for row_name, value, baseline, mark in rows:
        yield Row(f"{row_name}, {name}", value, baseline, loop, note=note)
        if domains >= RAINIER:
            yield Row(f"{row_name}, {name}", value, mark, "the mark", 1.0)
    baseline_name = f"networkx, one domain ({_SAMPLED} sampled)"
    yield Row(
        f"best 2×2×4, per domain, cached sets, {name}",
        cached_seconds / len(free),
        _measure_networkx(free),
        baseline_name,
        note=note,
    )


def _measure_networkx(free: list[int]) -> float:
    """Measure the seconds per domain that networkx takes to decide whether the free chips of a torus contain a box."""
    box = nx.cartesian_product(nx.grid_graph((2, 2)), nx.cycle_graph(4))
    torus = nx.convert_node_labels_to_integers(nx.grid_graph((4, 4, 4), periodic=True), ordering="sorted")
    graphs = [
        torus.subgraph([node for node in torus if mask >> node & 1])
        for mask in free[:: max(1, len(free) // _SAMPLED)][:_SAMPLED]
    ]

    def match() -> list[bool]:
        return [bool(GraphMatcher(graph, box).subgraph_is_monomorphic()) for graph in graphs]  # type: ignore[no-untyped-call]

    return median_seconds(match, 1) / len(graphs)


def _allocation_rows(fleet: Fleet, name: str) -> Iterator[Row]:
    """Measure allocating and releasing a domain, which is emptied first."""
    chips = select(TABLES["node"].c.id).where(TABLES["node"].c.domain_id == 1, TABLES["node"].c.kind == "chip")
    allocation, job = TABLES["allocation"], TABLES["job"]
    active = and_(allocation.c.chip_id.in_(chips), allocation.c.ended_at.is_(None))
    with fleet.engine.begin() as connection:
        keys = list(connection.scalars(chips))
        connection.execute(update(allocation).where(active).values(ended_at="y"))

    def allocate_and_release() -> None:
        fleet.allocate("next", [f"{NAME}/d0"], who="bench")
        fleet.release("next")

    free = itertools.count(10**8, -len(keys))  # trninv takes the ids after the last one

    def write_rows() -> None:
        key = next(free)
        values = {"id": key, "cluster_id": 1, "name": "plain", "system": "bench", "external_id": "plain"}
        with fleet.engine.begin() as connection:
            connection.execute(insert(job).values(values | {"started_at": "x", "who": "bench"}))
            connection.execute(insert(allocation).values(_allocations(key, keys, key)))
        with fleet.engine.begin() as connection:
            connection.execute(update(allocation).where(active).values(ended_at="y"))
            connection.execute(update(job).where(job.c.id == key).values(ended_at="y"))

    value, baseline = _median_in_turn(allocate_and_release, write_rows)
    row_name = f"allocate and release {_DOMAIN} chips, {name}"
    yield Row(row_name, value, baseline, "the same rows by plain SQL, unchecked, same triggers", _MARK_WRITES)


def _state_rows(fleet: Fleet, name: str, domains: int) -> Iterator[Row]:
    """Measure taking a server down and up again."""
    server = TABLES["server"]

    def set_state() -> None:
        for state in ("down", "up"):
            fleet.set_state([f"{NAME}/d0/s0"], state, who="bench", why="a benchmark")

    def update_row() -> None:
        for state in ("down", "up"):
            with fleet.engine.begin() as connection:
                connection.execute(update(server).where(server.c.id == 1).values(state=state))

    value, baseline = _median_in_turn(set_state, update_row)
    row_name = f"setState of a server, down and up again, {name}"
    yield Row(row_name, value, baseline, "UPDATE server by plain SQL, same triggers")
    if domains >= RAINIER:
        yield Row(row_name, value, _MARK_STATE, "the mark", 1.0)


def _median_in_turn(run: Callable[[], None], baseline: Callable[[], None]) -> tuple[float, float]:
    """Measure two functions in turn, so that other load on the machine affects both."""
    durations = [(median_seconds(run, 1), median_seconds(baseline, 1)) for _ in range(_WRITES)]
    return statistics.median(first for first, _ in durations), statistics.median(second for _, second in durations)


def _race_row(engine: Engine, name: str) -> Row:
    """Let two threads allocate four of 64 chips or release one, again and again, without checking what is free."""
    allocation = TABLES["allocation"]
    with engine.begin() as connection:
        newest = select(TABLES["chip"].c.id).order_by(TABLES["chip"].c.id.desc()).limit(_RACE_CHIPS)
        chips = list(connection.scalars(newest))
        active = and_(allocation.c.chip_id.in_(chips), allocation.c.ended_at.is_(None))
        connection.execute(update(allocation).where(active).values(ended_at="y"))
    threads = [threading.Thread(target=partial(_race, engine, chips, number)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    allocated = select(allocation.c.chip_id).where(allocation.c.ended_at.is_(None)).group_by(allocation.c.chip_id)
    with engine.connect() as connection:
        twice = len(connection.execute(allocated.having(func.count() > 1)).all())
    return Row(f"chips allocated twice after {_RACES:,} racing transactions, {name}", twice, 1.0, "one", 0.0, "chips")


def _race(engine: Engine, chips: list[int], number: int) -> None:
    draw, allocation = random.Random(number), TABLES["allocation"]
    for turn in range(_RACES // 2):
        sample = sorted(draw.sample(chips, 4))
        allocation_rows = insert(allocation).values(_allocations(2 * 10**8 + (turn * 2 + number) * 4, sample))
        condition = and_(allocation.c.chip_id == sample[0], allocation.c.ended_at.is_(None))
        try:
            with engine.connect().execution_options(writes=True) as connection, connection.begin():
                connection.execute(
                    update(allocation).where(condition).values(ended_at="y")
                    if draw.random() < 1 / 2
                    else allocation_rows
                )
        except DBAPIError:  # the chip is already allocated
            continue


def _allocations(first: int, chips: list[int], job: int = 1) -> list[dict[str, object]]:
    """Return rows of the table allocation."""
    numbered = enumerate(chips, start=first)
    return [{"id": key, "job_id": job, "chip_id": chip, "role": "work", "started_at": "x"} for key, chip in numbered]
