"""The pytest plugin: a fixture that searches and compares, and one page of all that a session measured.

It is loaded by every pytest of an environment that brimful is in, so it imports nothing until it is used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from brimful.paired.compare import ComparisonResult, Device
    from brimful.testing import RunsOfTest
    from brimful.throughput.result import SearchResult

_RECORD = "brimful.record"
"""Name of the property that says where a record is: from it the page is made, also of what other processes ran."""


_ITEM = pytest.StashKey[pytest.Item]()
"""The test that runs, which what is measured belongs to."""


class BrimfulFixture:
    """What the fixture ``brimful`` gives."""

    def __init__(self, config: pytest.Config, directory: Path) -> None:
        self._config, self._directory = config, directory

    def search(self, measure: Any, **options: Any) -> SearchResult:  # noqa: ANN401 - as `brimful.search` takes them
        """Find how much load something takes; arguments are those of `brimful.search`, but for ``record``."""
        with self._runs() as runs:
            return runs.search(measure, **options)

    def compare(self, first: Device, *others: Device, **options: Any) -> ComparisonResult:  # noqa: ANN401 - as above
        """Compare devices; arguments are those of `brimful.compare`, but for ``record``."""
        with self._runs() as runs:
            return runs.compare(first, *others, **options)

    def require(self, result: SearchResult, *conditions: str) -> None:
        """Fail the test where a condition like ``"ndr >= 1.2Mpps"`` is missed; the message says what was found."""
        from brimful.testing import missed

        __tracebackhide__ = True
        _fail_with(missed(result, conditions))

    def require_no_regression(self, result: ComparisonResult) -> None:
        """Fail the test where a device is slower than the first by more than the tolerance, or that is not known."""
        from brimful.testing import regressions

        __tracebackhide__ = True
        _fail_with(regressions(result))

    @contextlib.contextmanager
    def _runs(self) -> Iterator[RunsOfTest]:
        """Give where a run is kept; what it found becomes properties of the test."""
        from brimful.testing import RunsOfTest

        item = self._config.stash[_ITEM]
        runs = RunsOfTest(self._directory, item.name)
        try:
            yield runs
        finally:
            for made in runs.made:
                # Not by the fixture `record_property`, which warns of one of pytest's two forms of JUnit XML.
                item.user_properties += [(f"brimful.{name}", value) for name, value in made.values.items()]
                if made.has_record:
                    item.user_properties.append((_RECORD, str(made.path)))


def _fail_with(problems: list[str]) -> None:
    __tracebackhide__ = True
    if problems:
        pytest.fail("\n".join(problems))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("brimful", "brimful: how much load data planes take")
    group.addoption("--brimful-html", metavar="FILE", help="write one HTML page of all searches and comparisons")
    group.addoption(
        "--brimful-runs",
        metavar="DIRECTORY",
        help="keep the records of searches and comparisons here (default: among pytest's temporary directories)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin the page, in the process that writes it."""
    html = config.getoption("--brimful-html")
    if html is None or hasattr(config, "workerinput"):
        return
    from brimful.errors import UsageError
    from brimful.files import check_target
    from brimful.testing import check_page

    try:
        check_page()
        check_target(Path(html), "--brimful-html")
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    config.pluginmanager.register(_Page(Path(html)), "brimful-page")


@pytest.fixture(scope="session")
def brimful(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> BrimfulFixture:
    """Search, compare and check; of the scope of the session, so that fixtures of any scope can use it."""
    given = pytestconfig.getoption("--brimful-runs")
    directory = tmp_path_factory.mktemp("brimful-runs") if given is None else Path(given).absolute()
    return BrimfulFixture(pytestconfig, directory)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Note which test runs."""
    item.config.stash[_ITEM] = item


class _Page:
    """Collects what tests measured, and writes the page when all have ended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._outcomes: dict[str, str] = {}
        self._records: list[tuple[str, Path]] = []
        self._said = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome of a test and its records, which are known when its fixtures have ended."""
        if report.when == "call" or report.failed:
            self._outcomes[report.nodeid] = report.outcome
        if report.when == "teardown":
            self._records += [
                (report.nodeid, Path(str(path))) for name, path in report.user_properties if name == _RECORD
            ]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the page; a session that cannot has failed."""
        from brimful.errors import BrimfulError
        from brimful.files import write_atomically
        from brimful.testing import page_of

        made = [(test, self._outcomes.get(test, "skipped"), path) for test, path in self._records]
        try:
            write_atomically(self._path, page_of(made, "Searches and comparisons of the tests").encode())
        except BrimfulError as error:
            self._said = f"brimful: error: {error}"
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        else:
            self._said = f"brimful: wrote {self._path}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the page is."""
        terminalreporter.write_line(self._said)
