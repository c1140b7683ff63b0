"""All that legitimately changes a fleet, by chance: each step is one of them, and what is refused changes nothing."""

import random
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from adopting import adopted, keep
from listings import HOSTS, slurm, told
from lived import change
from next_release import next_release
from seen import below, instance
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from conftest import Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import open_engine, temporary_engine, write_transaction
from trninv.database.migration import migrate
from trninv.database.tables import TABLES
from trninv.errors import TrninvError
from trninv.history.archive import archive_writer as archiving
from trninv.history.archive.archive_pruner import prune_events
from trninv.history.archive.archive_store import open_for_writing
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.bindings import bind, unbind
from trninv.inventory.transfer import copy_database
from trninv.placement.allocations.allocation_rows import resolve_chips
from trninv.placement.allocations.plan_revision import plan_revision
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.move_jobs import move_jobs
from trninv.placement.changes.release import release
from trninv.placement.changes.uncordon import uncordon
from trninv.placement.questions.make_room import JobMove
from trninv.reconcile.drift import detect_drift
from trninv.reconcile.latest_observations import pinned_binding

if TYPE_CHECKING:
    from collections.abc import Callable

D = "u-trn2x64/d0"
_INSTANCES = [
    *(
        below(instance(number, "trn2u.48xlarge", f"cb-{number // 4}"), "a", "b", f"c{number // 4}")
        for number in range(1, 9)
    ),
    *(below(instance(number, "trn2.48xlarge"), "a", "b", "c9") for number in range(20, 26)),
]


class Life:
    """A database that lives, on one kind of database and, copied, on the other.

    Attributes
    ----------
    done
        Names of the steps, for whoever reads a failure.

    """

    def __init__(
        self, databases: Databases, url: str, seed: int, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._databases, self._directory = databases, directory
        self.engine, self.dice, self.done = open_engine(url), random.Random(seed), list[str]()
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        monkeypatch.setattr(archiving, "parse_time", lambda _: tomorrow)  # today's events go into the archive as well

    def step(self) -> None:
        """Do one of all, as often as each is given."""
        steps: list[Callable[[], None]] = [self._change] * 4 + [self._job] * 6 + [self._import] * 3 + [self._close] * 2
        steps += [self._bind] * 2 + [self._adopt, self._apply, self._seed, self._copy, self._archive, self._plain_job]
        chosen = self.dice.choice([*steps, self._migrate])
        self.done.append(chosen.__name__)
        with suppress(TrninvError, DBAPIError):
            chosen()

    def end(self) -> None:
        self.engine.dispose()

    def _change(self) -> None:
        change(self.engine, self.dice)

    def _job(self) -> None:
        name, server = self.dice.choice("abcd"), f"{D}/s{self.dice.randrange(4)}"
        chips = self.dice.choice([f"{server}/c0-3", f"{server}/c8-15", server, f"{server}/c4"])
        with write_transaction(self.engine) as connection:
            match self.dice.randrange(4):
                case 0:
                    release(connection, name, who="ann")
                case 1:
                    key = connection.scalar(
                        select(TABLES["cluster"].c.id).where(TABLES["cluster"].c.slug == "u-trn2x64")
                    )
                    size = len(resolve_chips(connection, [chips], []))
                    move = JobMove(name, size, (), (chips,), must_stop=False)
                    move_jobs(connection, "u-trn2x64", [move], plan_revision(connection, key or 0), who="mover")
                case _:
                    spares = [f"{D}/s3/c{self.dice.randrange(16)}"] if self.dice.random() < 0.3 else []
                    allocate(connection, name, [chips], who="ann", spares=spares, pinned=self.dice.random() < 0.2)

    def _import(self) -> None:
        jobs = [slurm(7 + at, HOSTS[at], f"gpu:16(IDX:{self.dice.choice(['0-3', '4-7', '0-15'])})") for at in range(3)]
        with write_transaction(self.engine) as connection:
            chosen = self.dice.sample(jobs, self.dice.randrange(1, 4))
            told(connection, {"jobs": chosen}, partial=self.dice.random() < 0.5, keep_going=True)

    def _close(self) -> None:
        places = [f"{D}/s{self.dice.randrange(4)}"] if self.dice.random() < 0.7 else [D]
        with write_transaction(self.engine) as connection:
            if self.dice.random() < 0.6:
                cordon(connection, places, who="ann", why="firmware")
            else:
                uncordon(connection, places, who="ann")

    def _bind(self) -> None:
        slot, name = f"{D}/s{self.dice.randrange(4)}", self.dice.choice(["i-0aa", "i-0bb", "host-c", "host-d"])
        with write_transaction(self.engine) as connection:
            if self.dice.random() < 0.7:
                bind(connection, [pinned_binding(connection, slot, name)], who="ann")
            else:
                unbind(connection, slot, who="ann")

    def _adopt(self) -> None:
        """Adopt some, and later more: the cluster grows."""
        adopted(self.engine, *self.dice.sample(_INSTANCES, self.dice.randrange(2, len(_INSTANCES))))

    def _apply(self) -> None:
        """An instance stopped, which drift finds and sets down."""
        stopped = instance(self.dice.randrange(1, 9), "trn2u.48xlarge") | {"State": {"Name": "stopped"}}
        with write_transaction(self.engine) as connection:
            keep(connection, "ec2", {"Reservations": [{"Instances": [stopped]}]})
            detect_drift(connection, apply_as="ann")

    def _seed(self) -> None:
        """Unseed a cluster, or seed it again."""
        slug = self.dice.choice(["u-trn2x64", "trn1.32xlarge", "lab"])
        with write_transaction(self.engine) as connection:
            key = connection.scalar(select(TABLES["cluster"].c.id).where(TABLES["cluster"].c.slug == slug))
            if key is not None:
                cluster_seeding.unseed(connection, key)
            if slug != "lab" and (key is None or self.dice.random() < 0.8):
                cluster_seeding.seed(connection, default_catalog(), default_systems().get(slug))

    def _copy(self) -> None:
        """Go on as a copy, on the other kind of database."""
        other = {"sqlite": "postgresql", "postgresql": "sqlite"}[self.engine.dialect.name]
        url = self._databases.migrated(other)
        with temporary_engine(url) as target, self.engine.connect() as source, write_transaction(target) as connection:
            copy_database(source, connection, replace=True)
        self.engine.dispose()
        self.engine = open_engine(url)

    def _archive(self) -> None:
        with open_for_writing(self._directory / str(len(self.done))) as store:
            archiving.archive_history(self.engine, store)
            prune_events(self.engine, store, "ann")

    def _migrate(self) -> None:
        """Go on to the next release, and back."""
        with next_release():
            migrate(self.engine)
            migrate(self.engine, "-1")
        migrate(self.engine)

    def _plain_job(self) -> None:
        """A job in plain SQL begins, or ends with what it holds."""
        with self.engine.begin() as connection:
            for statement in _BEGINNING if self.dice.random() < 0.5 else _ENDING:
                connection.execute(text(statement))


_BEGINNING = (
    """INSERT INTO job (id, cluster_id, name, system, external_id, started_at, who)
    SELECT (SELECT coalesce(max(id), 0) + 1 FROM job), id, 'p', 'x', 'p', '2026', 'me' FROM cluster
    WHERE slug = 'u-trn2x64'""",
    """INSERT INTO allocation (id, job_id, chip_id, role, started_at)
    SELECT (SELECT coalesce(max(id), 0) + 1 FROM allocation), (SELECT max(id) FROM job), max(chip.id), 'work', '2026'
    FROM chip JOIN node ON node.id = chip.id JOIN cluster ON cluster.id = cluster_id WHERE slug = 'u-trn2x64'""",
)
_FIRST = "SELECT min(id) FROM job WHERE ended_at IS NULL"
_ENDING = (
    f"UPDATE allocation SET ended_at = '2027' WHERE ended_at IS NULL AND job_id = ({_FIRST})",
    f"UPDATE job SET ended_at = '2027' WHERE id = ({_FIRST})",
)
