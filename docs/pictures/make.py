"""Makes the pictures of README.md and docs/ anew: ./run pictures.

Drawings are those of the `trninv draw` lines beside them; screenshots need chromium.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from browsing import FLAGS, settled
from conftest import seed_everything
from serving import serving
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SCREENS = {
    "explorer-domain": "#/domain/u-trn2x64/d0?from=s0/c0&to=s2/c10&down=s0/c1",
    "explorer-bisection": "#/domain/u-trn2x64/d0?show=bisection&down=s0/c1&view=3d",
    "explorer-switched": "#/domain/trn3-gen2/d0?from=s0/c0&to=s35/c3",
    "explorer-fleet": "#/cluster/rainier?color=pool",
    "explorer-rack": "#/rack/u-trn2x64/r0",
    "explorer-home": "",
}
DOWN = ["rainier/d17/s2/c5", "rainier/d1200/s1", "rainier/d1201/s1", "rainier/d1202/s1", "rainier/d4444/s0"]


def draw(database: str) -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")):
        for command in re.findall(r"^ +trninv (draw .*docs/pictures/.*\.svg)$", page.read_text(), re.MULTILINE):
            subprocess.run([sys.executable, "-m", "trninv", "--database", database, *command.split()], check=True)


def photograph(database: str) -> None:
    with serving(database) as service, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, at in SCREENS.items():
            page = browser.new_page(viewport={"width": 1280, "height": 960})
            page.goto(f"{service}/{at}")
            settled(page)
            page.screenshot(path=HERE / f"{name}.png")
            shrink(HERE / f"{name}.png")
            page.close()
        browser.close()


def shrink(picture: Path) -> None:
    """Store a screenshot in 256 colors, which is a third of its size, because each wheel contains it."""
    with Image.open(picture) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(picture, optimize=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        database = f"sqlite:///{directory}/pictures.db"
        seed_everything(database)
        draw(database)
        with temporary_engine(database) as engine, write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("rainier"))
            set_state(connection, DOWN, Condition.from_user("down", None), why="a picture", who="docs")
        photograph(database)


if __name__ == "__main__":
    main()
