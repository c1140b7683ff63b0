"""All of Project Rainier: 400,000 chips; answers found from two domains against a search of the whole graph."""

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

import trninv
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding

pytestmark = pytest.mark.slow
SOURCES, TARGETS = 10, 100


@pytest.fixture(scope="module")
def rainier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    file = tmp_path_factory.mktemp("rainier") / "rainier.db"
    with temporary_engine(f"sqlite:///{file}") as engine:
        migration.migrate(engine)
        with write_transaction(engine) as connection:
            assert cluster_seeding.seed(connection, default_catalog(), default_systems().get("rainier"))
    yield file
    file.unlink()


def test_a_thousand_paths_and_the_bisection(rainier: Path) -> None:
    with sqlite3.connect(rainier) as connection:
        a, b = np.array(connection.execute("SELECT a_id, b_id FROM link").fetchall(), dtype=np.int64).T
        ids = [key for (key,) in connection.execute("SELECT id FROM chip ORDER BY id")]
    connection.close()
    assert (len(ids), len(a)) == (400_000, 2_000_807)
    size = int(b.max()) + 1
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(size, size)).tocsr()
    chance = random.Random(1)
    starts, ends = chance.sample(range(len(ids)), SOURCES), chance.sample(range(len(ids)), TARGETS)
    hops = shortest_path(graph, directed=False, unweighted=True, indices=[ids[start] for start in starts])
    with trninv.open(f"sqlite:///{rainier}") as fleet:
        for row, start in enumerate(starts):
            for end in ends:
                if start // 64 != end // 64:
                    answer = fleet.path(_address(start), _address(end))
                    assert answer.paths[0].hops == hops[row, ids[end]]
        half = fleet.bisection("rainier")
    assert (half.upper, half.exact, half.side_a) == (5_000_000 * 10**9, True, 200_000)


def _address(number: int) -> str:
    """Of the chip of that number, counted through the fleet."""
    domain, within = divmod(number, 64)
    return f"rainier/d{domain}/s{within // 16}/c{within % 16}"
