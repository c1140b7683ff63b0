"""Two small clusters, and changes of their parts by chance."""

import random
from dataclasses import replace
from time import sleep

from sqlalchemy import Engine, text

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.migration import migrate
from trninv.database.tables import STATES
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

U = "u-trn2x64/d0"
T = "trn2-16.48xlarge/d0"


def seed_two(url: str) -> None:
    """Two small clusters, one of them of several domains with a fabric."""
    known = default_systems()
    with temporary_engine(url) as engine:
        migrate(engine)
        for system in (known.get("u-trn2x64"), replace(known.get("trn2-16.48xlarge"), domains=3)):
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), system)


def change(engine: Engine, dice: random.Random) -> None:
    """One change of something, by trninv or in plain SQL."""
    state = dice.choice(STATES)
    condition = Condition.from_user(state, dice.choice([0.5, 0.25]) if state == "degraded" else None)
    server = dice.choice([f"{U}/s0", f"{U}/s1", f"{U}/s2", f"{T}/s0", "trn2-16.48xlarge/d2/s0"])
    if dice.random() < 0.3:
        sleep(0.002)  # SQLite dates plain SQL by the millisecond: not that of what came before
        with engine.begin() as connection:
            table = dice.choice(["node", "link", "server"])
            factor = dice.choice(["NULL", "300000"])
            few = f"id % {dice.choice([7, 50, 97])} = {dice.randrange(7)}"
            connection.execute(text(f"UPDATE {table} SET state = '{state}', factor_ppm = {factor} WHERE {few}"))
        return
    parts = [server, f"{server}/c{dice.randrange(16)}", f"{server}/efa3", f"{server}/c0--{server}/c1"]
    with write_transaction(engine) as connection:
        set_state(connection, dice.sample(parts, dice.choice([1, 1, 2])), condition, why="chance", who="dice")
