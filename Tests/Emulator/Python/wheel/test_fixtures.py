"""What the wheel promises, as its users have it: installed, without a toolchain. `Scripts/check-wheel` runs it."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import urllib.request

import mobile_token_emulator
import pytest
from mobile_token_emulator import Refused, Server, Space


@pytest.mark.parametrize("number", range(3))
def test_a_space_has_what_its_test_has_made(mobile_token_space, number):
    assert mobile_token_space.ask("GET", "/_emulator/operations")["total"] == 0
    for index in range(number + 1):
        mobile_token_space.create_operation("login", f"user {index}")
    assert mobile_token_space.ask("GET", "/_emulator/operations")["total"] == number + 1


def test_what_nobody_decides_is_not_waited_for_in_vain(mobile_token_space):
    operation = mobile_token_space.create_operation("login", "alice")
    with pytest.raises(TimeoutError, match="after 1 s: alice has no registration .*; it expires in .* s; see http.*#operations/"):
        mobile_token_space.wait(operation, within=1)


def test_a_callback_that_does_not_come_is_told(mobile_token_callbacks):
    with pytest.raises(TimeoutError):
        mobile_token_callbacks.next(within=0.1, status="APPROVED")


def test_refusals_have_the_servers_words(mobile_token_space):
    mobile_token_space.fail("/v2/**", first=1, status=503)
    with pytest.raises(Refused) as refused:
        mobile_token_space.register("alice")
    assert refused.value.status == 503
    with pytest.raises(Refused) as refused:
        mobile_token_space.create_operation("paymnt", "alice")
    assert refused.value.code == "ERROR_REQUEST" and "did you mean 'payment'" in refused.value.message
    assert [entry["status"] for entry in mobile_token_space.journal(verdict="refused")] == [400, 503]


def test_a_parameter_that_the_template_lacks_is_refused(mobile_token_space):
    with pytest.raises(TypeError, match="'payment' has no parameter 'amout': there are amount, currency"):
        mobile_token_space.create_operation("payment", "alice", amout="20")
    assert mobile_token_space.ask("GET", "/_emulator/operations")["total"] == 0


def test_a_member_that_the_call_lacks_is_refused(mobile_token_space):
    with pytest.raises(TypeError, match="a new operation has no member 'externalID': did you mean 'externalId'?"):
        mobile_token_space.create_operation("payment", "alice", request={"externalID": "order-7"})
    assert mobile_token_space.ask("GET", "/_emulator/operations")["total"] == 0
    payment = mobile_token_space.create_operation("payment", "alice", request={"externalId": "order-7"})
    assert mobile_token_space.operation(payment)["externalId"] == "order-7"


def test_a_client_is_configured_with_the_space(mobile_token_space):
    configuration = mobile_token_space.configuration()
    assert configuration["baseURL"] == mobile_token_space.base_url
    registration = mobile_token_space.register("alice")
    with pytest.raises(Refused):
        mobile_token_space.commit(registration["registrationId"])  # nothing has activated


def test_a_server_elsewhere_is_found_by_the_address_that_was_given(mobile_token_server):
    environment = dict(mobile_token_server.environment)
    environment["MOBILE_TOKEN_SPACES_URL"] = environment["MOBILE_TOKEN_SPACES_URL"].replace("127.0.0.1", "127.1")
    made = mobile_token_server.ask("POST", "/_emulator/spaces", {"name": "elsewhere"})
    assert made["url"].startswith("http://127.0.0.1:")
    space = Space(Server(environment), made)
    assert space.url.startswith("http://127.1:") and space.base_url == space.url + "/enrollment-server"
    assert space.register("alice")["activationCode"]


def test_a_name_may_be_long(mobile_token_server):
    space = mobile_token_server.make_space("\u017e" * 200)
    assert space.name == "\u017e" * 127
    space.remove()


def test_callbacks_from_elsewhere_arrive_too(mobile_token_space):
    callbacks = mobile_token_emulator.Callbacks("localhost")
    callbacks.register(mobile_token_space)
    operation = mobile_token_space.create_operation("login", "alice")
    assert callbacks.next(operationId=operation)["status"] == "PENDING"
    callbacks.close()


def run_pytest(folder, test, *before, **environment):
    (folder / "test_it.py").write_text(textwrap.dedent(test))
    command = [*before, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "test_it.py"]
    return subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)


def test_a_failure_shows_what_was_refused(tmp_path):
    outcome = run_pytest(
        tmp_path,
        """
        import pytest
        def test_it(mobile_token_space):
            mobile_token_space.fail("/v2/operation", status=503)
            parameters = {"amuont": "20"}
            mobile_token_space.ask("POST", "/v2/operations", {"template": "payment", "userId": "alice", "parameters": parameters})
            mobile_token_space.create_operation("paymnt", "alice")
        """,
    )
    assert outcome.returncode == 1
    assert "POST /v2/operations: 200, ignored: 'parameters.amuont', did you mean 'amount'?; see http" in outcome.stdout
    assert "authorize_payment of alice is PENDING: alice has no registration that may decide it; it expires in " in outcome.stdout
    assert "no request has met the fault rule on /v2/operation\n" in outcome.stdout
    assert "Refused by the development server" in outcome.stdout
    assert re.search(r"POST /v2/operations: 400, .*; see http://127.0.0.1:\d+/spaces/[-0-9a-f]+/console/#journal/\d+\n", outcome.stdout)


def test_a_server_that_somebody_runs_keeps_the_last_failure_of_each_test(tmp_path):
    with mobile_token_emulator.start("--password", "secret") as server:
        for _ in range(2):
            outcome = run_pytest(
                tmp_path,
                """
                def test_it(mobile_token_space):
                    mobile_token_space.create_operation("paymnt", "alice")
                def test_more(mobile_token_space):
                    pass
                """,
                MOBILE_TOKEN_EMULATOR_URL=server.url + "/", MOBILE_TOKEN_CLOUD_PASSWORD="secret",
            )
        [space] = server.ask("GET", "/_emulator/spaces")["items"]
        assert space["name"] == "test_it.py::test_it" and "paymnt" in space["failure"]
        # The link leads to the entry that tells the reason.
        (url, entry), *_ = re.findall(r"(http\S+)/console/#journal/(\d+)", outcome.stdout)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        assert b"did you mean 'payment'" in opener.open(f"{url}/_emulator/journal/{entry}", timeout=10).read()


def test_the_server_of_exec_is_used_and_keeps_what_failed(tmp_path):
    outcome = run_pytest(
        tmp_path,
        """
        def test_it(mobile_token_server, mobile_token_space):
            assert mobile_token_server._process is None
            mobile_token_space.create_operation("login", "bob")
            assert False, "on purpose"
        """,
        mobile_token_emulator.program(), "exec", "--per-test", "--report", str(tmp_path / "report"), "--",
    )
    assert outcome.returncode == 1, outcome.stderr
    assert "on purpose" in outcome.stdout
    summary = json.loads((tmp_path / "report/test_it.py--test_it/summary.json").read_text())
    assert summary["failure"].startswith("AssertionError: on purpose\n") and summary["operations"] == 1
    assert "Failed: test_it.py::test_it  operations: 1, refused: 0  AssertionError: on purpose" in outcome.stderr


def test_options_of_the_server_are_options_of_pytest(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nmobile_token_options = --user bank --server 2.1\n")
    outcome = run_pytest(
        tmp_path,
        """
        def test_it(mobile_token_server):
            assert mobile_token_server.environment["MOBILE_TOKEN_CLOUD_USER"] == "bank"
        """,
    )
    assert outcome.returncode == 0, outcome.stdout


def test_a_server_ends_with_whoever_started_it():
    program = "import mobile_token_emulator, time; print(mobile_token_emulator.start().url, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as starter:
        url = starter.stdout.readline().strip()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        assert opener.open(url + "/health", timeout=10).status == 200
        starter.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while True:
        try:
            opener.open(url + "/health", timeout=10)
        except OSError:
            break
        assert time.monotonic() < deadline, "the server is still there"
        time.sleep(0.05)


def test_a_server_that_cannot_start_is_an_error():
    with pytest.raises(RuntimeError, match="did not start"):
        mobile_token_emulator.start("--no-such-option")


def test_a_package_without_the_program_says_so(monkeypatch):
    monkeypatch.delenv("MOBILE_TOKEN_EMULATOR", raising=False)
    monkeypatch.setattr(mobile_token_emulator, "__file__", "/nowhere/__init__.py")
    with pytest.raises(RuntimeError, match="Scripts/wheel"):
        mobile_token_emulator.program()


def test_tls_is_trusted_without_more():
    with mobile_token_emulator.start("--tls") as server:
        assert server.url.startswith("https://")
        assert server.ask("GET", "/health")["status"] == "READY"


def test_the_program_is_on_the_path_and_knows_its_version():
    program = os.path.join(os.path.dirname(sys.executable), "mobile-token-emulator")
    if not os.path.exists(program):
        pytest.skip("not installed, but beside its sources")
    from importlib.metadata import version

    from packaging.version import Version

    outcome = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30)
    name, reported = outcome.stdout.split()
    # Python writes a pre-release without dash and dot: 1.0.0b1.
    assert name == "mobile-token-emulator" and Version(reported) == Version(version(name))
