"""A browser that talks to a service; no request may leave this machine."""

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, Route, expect, sync_playwright

from conftest import Databases
from examples import ROOT
from forking import forked_service
from reruns import has_failed
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
NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""A flag that lets no name or address but this machine's resolve."""

Open = Callable[..., Page]
PATIENCE = 30_000
"""Milliseconds in which a page must come to what is expected of it, on a machine that does much else."""
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def shared_database(databases: Databases) -> str:
    """Every single-domain system, and a fleet of 200 servers of which some chips are down."""
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn2").resized(200), name="lab")
        down = ["lab/d0/s0/c3", "lab/d150/s0", "lab/d151/s0/c1"]
        set_state(connection, down, Condition.from_user("down", None), why="test", who="tests")
    return url


@pytest.fixture(scope="session")
def shared_service(shared_database: str) -> Iterator[str]:
    with forked_service(shared_database) as url:
        yield url


@pytest.fixture(scope="module")
def service_database(shared_database: str) -> str:
    """What the service of a module serves; files that need another one override this."""
    return shared_database


@pytest.fixture(scope="module")
def service(service_database: str, request: pytest.FixtureRequest) -> Iterator[str]:
    if "shared_database" in request.fixturenames:  # which no fixture of the file overrides
        yield request.getfixturevalue("shared_service")
    else:
        with forked_service(service_database) as url:
            yield url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium (CI installs it)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=[*FLAGS, NO_NETWORK])
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


@contextmanager
def held_back(page: Page) -> Iterator[None]:
    """Hold back what a page asks until the end of the block."""
    held: list[Route] = []
    is_over = False

    def hold(route: Route) -> None:
        if is_over:
            route.fallback()
        else:
            held.append(route)

    page.context.route("**/graphql", hold)
    yield
    is_over = True
    for route in held:
        route.fallback()


class Window:
    """One page that test after test uses, because a new one takes a renderer that compiles the explorer anew."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._page: Page | None = None

    def take(self) -> Page:
        self._page = self._page or self.another()
        return self._page

    def another(self) -> Page:
        """Open a page with storage of its own, which the caller closes."""
        context = self._browser.new_context(
            reduced_motion="reduce", permissions=["clipboard-read", "clipboard-write"], accept_downloads=True
        )
        return context.new_page()

    def clear(self) -> None:
        """Forget what a test stored, and which requests it intercepted."""
        page = self._page
        if page is None or page.url == "about:blank":
            return
        is_out_of_reach = page.is_closed() or not page.url.startswith("http://127.0.0.1:")
        if is_out_of_reach or abs(page.evaluate("Date.now()") / 1000 - time.time()) > 60:  # a test set its clock
            self.discard()
            return
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.unroute_all()
        page.context.unroute_all()
        page.goto("about:blank")
        page.mouse.move(-9, -9)

    def discard(self) -> None:
        if self._page:
            self._page.context.close()
        self._page = None


class Watched:
    """Pages of one test: what left the machine, what the console said."""

    def __init__(self, window: Window, service: str) -> None:
        self._window, self._service = window, service
        self._pages: list[Page] = []
        self.left: list[str] = []
        self.said: list[str] = []

    def open(self, at: str = "", width: int = 1400, height: int = 900, scheme: str = "light", url: str = "") -> Page:
        page = self._window.another() if self._pages else self._window.take()
        self._pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(
            media="null",
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
            forced_colors="null",
        )
        for of, event, listener in self._listeners(page):
            of.on(event, listener)
        page.goto(f"{url or self._service}/{at}")
        settled(page)
        return page

    def _listeners(self, page: Page) -> list[tuple[Any, str, Callable[..., None]]]:
        return [
            (page.context, "request", self._pass),
            (page, "console", self._hear),
            (page, "pageerror", self._fail),
        ]

    def _pass(self, request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:", "about:")):
            self.left.append(request.url)

    def _hear(self, message: ConsoleMessage) -> None:
        is_refused = "status of 400" in message.text and "?at=" in message.location["url"]
        if message.type in ("error", "warning") and not is_refused:  # of a moment before the history: the page says so
            self.said.append(message.text)

    def _fail(self, error: Error) -> None:
        self.said.append(str(error))

    def close(self) -> None:
        for page in self._pages:
            for of, event, listener in self._listeners(page):
                of.remove_listener(event, listener)
        for page in self._pages[1:]:
            page.context.close()
        self._window.clear()
        self._pages.clear()


@pytest.fixture(scope="session")
def window(browser: Browser) -> Window:
    return Window(browser)


@pytest.fixture
def watched(window: Window, service: str, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """Opens pages; at the end nothing has left the machine, and the console is silent."""
    pages = Watched(window, service)
    yield pages
    if has_failed(request.node):
        window.discard()
    pages.close()
    assert pages.left == []
    assert pages.said == []


@pytest.fixture
def opened(watched: Watched) -> Open:
    return watched.open


def violations(page: Page, *rules: str) -> str:
    """What axe finds on a page, by all its rules or by some: a report, which is empty without violations."""
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    found = Axe().run(page, options=options)
    return f"{page.url}: {found.generate_report()}" if found.violations_count else ""
