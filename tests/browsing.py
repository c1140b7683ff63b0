"""A browser that talks to a service; no request may leave this machine."""

import re
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route, expect, sync_playwright

from conftest import Databases
from examples import ROOT
from serving import serving
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--font-render-hinting=none",
]  # fmt: skip

Open = Callable[..., Page]
PATIENCE = 30_000
"""Milliseconds in which a page must come to what is expected of it, on a machine that does much else."""
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def service_database(databases: Databases) -> str:
    """Every single-domain system, and a fleet of 200 servers of which some chips are down."""
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2").resized(200), name="lab")
        down = ["lab/d0/s0/c3", "lab/d150/s0", "lab/d151/s0/c1"]
        set_state(connection, down, Condition.from_user("down", None), why="test", who="tests")
    return url


@pytest.fixture(scope="module")
def service(service_database: str) -> Iterator[str]:
    with serving(service_database) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium (CI installs it)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


def documented() -> list[str]:
    """The address of each view in the table of docs/reference/explorer.md."""
    page = (ROOT / "docs/reference/explorer.md").read_text()
    return re.findall(r"^\| [^|]+ \| `(#/[^`]*)` \|", page, re.MULTILINE)


def settled(page: Page) -> None:
    """Wait until what was just asked of the page has begun, and no answer is awaited any more."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")
    page.wait_for_selector("main article, main .failure, .graphiql-container")
    expect(page.locator("[aria-busy=true], [data-asking]")).to_have_count(0)


def copies(page: Page, pattern: str) -> None:
    """Wait until what the clipboard holds matches a regular expression of JavaScript."""
    page.wait_for_function(
        "async like => new RegExp(like, 's').test(await navigator.clipboard.readText())", arg=pattern
    )


class Watched:
    """Pages of one test: what left the machine, what the console said."""

    def __init__(self, browser: Browser, service: str) -> None:
        self._browser, self._service = browser, service
        self._contexts: list[BrowserContext] = []
        self.left: list[str] = []
        self.said: list[str] = []

    def open(self, at: str = "", width: int = 1400, height: int = 900, scheme: str = "light", url: str = "") -> Page:
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
            accept_downloads=True,
        )
        self._contexts.append(context)
        context.route("**/*", self._pass)
        page = context.new_page()
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.goto(f"{url or self._service}/{at}")
        settled(page)
        return page

    def _pass(self, route: Route) -> None:
        if route.request.url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            route.continue_()
        else:
            self.left.append(route.request.url)
            route.abort()

    def _hear(self, message: ConsoleMessage) -> None:
        is_refused = "status of 400" in message.text and "?at=" in message.location["url"]
        if message.type in ("error", "warning") and not is_refused:  # of a moment before the history: the page says so
            self.said.append(message.text)

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def watched(browser: Browser, service: str) -> Iterator[Watched]:
    """Opens pages; at the end nothing has left the machine, and the console is silent."""
    pages = Watched(browser, service)
    yield pages
    pages.close()
    assert pages.left == []
    assert pages.said == []


@pytest.fixture
def opened(watched: Watched) -> Open:
    return watched.open
