"""Fixtures for tests against the development server."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterator

import pytest

from . import Callbacks, Server, Space, start

_FAILURE = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("mobile_token_options", "options of the development server, such as --server 2.1", type="args", default=[])


@pytest.fixture(scope="session")
def mobile_token_server(pytestconfig: pytest.Config) -> Iterator[Server]:
    """The server of the test run: that of `mobile-token-emulator exec` or `MOBILE_TOKEN_EMULATOR_URL`, or one of its own."""
    if running := Server.running():
        yield running
    else:
        with start(*pytestconfig.getini("mobile_token_options")) as server:
            yield server


@pytest.fixture
def mobile_token_space(request: pytest.FixtureRequest, mobile_token_server: Server) -> Iterator[Space]:
    """A server within the server for this test."""
    space = mobile_token_server._make_space_again(request.node.nodeid)
    yield space
    failure = request.node.stash.get(_FAILURE, None)
    if failure is not None:
        space.mark_failed(failure)
    if failure is None or not mobile_token_server._stays_afterwards:
        space.remove()


@pytest.fixture
def mobile_token_device(mobile_token_space: Space) -> Callable[..., dict[str, Any]]:
    """Makes virtual phones in the test's space: `mobile_token_device("alice", "approve")`."""
    return mobile_token_space.make_device


@pytest.fixture
def mobile_token_callbacks(mobile_token_space: Space) -> Iterator[Callbacks]:
    """The bank's address, which the test's space tells of each change of an operation."""
    callbacks = Callbacks(os.environ.get("MOBILE_TOKEN_CALLBACK_HOST", "127.0.0.1"))
    callbacks.register(mobile_token_space)
    yield callbacks
    callbacks.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if report.failed:
        # The assertion first: lists show the first line.
        crash = getattr(report.longrepr, "reprcrash", None)
        item.stash[_FAILURE] = f"{crash.message}\n\n{report.longrepr}" if crash else str(report.longrepr)
        space = getattr(item, "funcargs", {}).get("mobile_token_space")
        if isinstance(space, Space) and report.when != "teardown":
            report.sections.append(("Refused by the development server", _refused(space)))
    return report


def _refused(space: Space) -> str:
    try:
        entries = [one for one in space.journal(limit=200) if not one["isAccepted"] or one.get("warnings")][:20]
        pending = space.ask("GET", "/_emulator/operations", status="PENDING", limit=5)["items"]
        waiting = [f"{one['operationType']} of {one.get('userId', 'anybody')} is PENDING: {space._awaited(one['operationId'])}" for one in pending]
        faults = space.ask("GET", "/_emulator/faults")
        unmet = [rule["match"].get("path", "/**") for rule, count in zip(faults["rules"], faults["counts"]) if not count["matched"]]
    except Exception as error:  # the test's own failure is what matters
        return f"its journal cannot be read: {error}"
    console = f"{space.url}/console/"
    lines = [
        f"{entry['method']} {entry['path']}: {entry['status']}, {_reason(entry)}; see {console}#journal/{entry['id']}"
        for entry in reversed(entries)
    ]
    lines += waiting + [f"no request has met the fault rule on {path}" for path in unmet]
    return "\n".join(lines) or f"nothing; see {console}"


def _reason(entry: dict[str, Any]) -> str:
    """What was refused, or what a request said in vain: `ignored: 'amuont', did you mean 'amount'?`."""
    return entry.get("finding") or ", ".join(one["message"] for one in entry.get("warnings", []))
