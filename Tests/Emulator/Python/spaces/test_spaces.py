"""Fifty tests of a bank's backend, all at once against one server. Each would fail if it met what another one does."""

import http.server
import json
import queue
import threading

import pytest
from conftest import CREDENTIALS, Refused

EACH = pytest.mark.parametrize("number", range(5))


@EACH
def test_an_operation_expires_by_the_clock_of_its_space(space, number):
    assert space.clock(mode="manual", now=f"203{number}-01-01T00:00:00Z") == f"203{number}-01-01T00:00:00.000Z"
    operation = space.operation()
    space.clock(advance=50 * number)  # of the 300 seconds that it has
    assert space.status(operation) == "PENDING"
    assert space.clock(advance=3600)[:14] == f"203{number}-01-01T01:"
    assert space.status(operation) == "EXPIRED"


@EACH
def test_a_list_has_what_the_test_has_made(space, number):
    for index in range(number + 1):
        space.register(f"user {index}")
        space.operation(user=f"user {index}")
    assert space.ask("GET", "/_emulator/activations")["total"] == number + 1
    assert space.ask("GET", "/_emulator/operations")["total"] == number + 1
    space.ask("POST", "/_emulator/reset")
    assert space.ask("GET", "/_emulator/activations")["total"] == 0


@EACH
def test_a_fault_strikes_here_alone(space, number):
    rule = {"name": "trouble", "match": {"path": "/v2/**", "first": 1}, "effect": {"status": 500 + number}}
    space.ask("PUT", "/_emulator/faults", {"rules": [rule]})
    with pytest.raises(Refused) as refused:
        space.operation()
    assert refused.value.status == 500 + number
    space.operation()
    entries = space.ask("GET", "/_emulator/journal")["entries"]
    assert [(entry["status"], entry.get("fault")) for entry in entries] == [(200, None), (500 + number, "trouble")]


@EACH
def test_a_seed_gives_the_same_identifiers(make_space, number):
    codes = [make_space(seed=number).register("alice")["activationCode"] for _ in range(2)]
    assert codes[0] == codes[1]
    assert make_space(seed=number + 5).register("alice")["activationCode"] != codes[0]


@EACH
def test_a_callback_tells_this_bank(space, number):
    received = queue.Queue()

    class Bank(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            received.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bank)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    space.ask(
        "POST",
        "/v2/callbacks",
        {
            "name": "bank",
            "type": "OPERATION",
            "callbackUrl": f"http://127.0.0.1:{server.server_port}/{number}",
            "attributes": ["status", "userId"],
        },
    )
    operation = space.operation(user=f"user {number}")
    told = received.get(timeout=30)
    assert (told["operationId"], told["status"], told["userId"]) == (operation, "PENDING", f"user {number}")
    space.ask("DELETE", f"/v2/operations/{operation}")
    assert received.get(timeout=30)["status"] == "CANCELED"
    server.shutdown()
    assert received.empty()


@EACH
def test_a_device_approves_after_a_while(space, number):
    start = space.clock(mode="manual")
    device = space.device(decision="approve", after=10 * number + 10)
    operation = space.operation("payment")
    task = lambda: space.ask("GET", f"/_emulator/devices/{device['id']}")["tasks"]
    space.wait_until(task)
    space.clock(advance=10 * number + 9)
    assert space.status(operation) == "PENDING"
    space.clock(advance=1)
    space.wait_until(lambda: space.status(operation) == "APPROVED")
    assert task()[0]["due"] >= start


@pytest.mark.parametrize("reason", ["UNKNOWN", "UNEXPECTED_OPERATION", "INCORRECT_DATA", "PREARRANGED", "X"])
def test_a_device_rejects(space, reason):
    space.device(decision="reject", reason=reason)
    operation = space.operation()
    space.wait_until(lambda: space.status(operation) == "REJECTED")
    assert space.ask("GET", f"/_emulator/operations/{operation}")["rejectReason"] == reason


@pytest.mark.parametrize("failures", range(1, 6))
def test_wrong_passwords_are_counted_and_the_fifth_blocks(space, failures):
    device = space.device(decision="never")
    for _ in range(failures):
        request = {"operationId": space.operation(), "decision": "wrongPassword"}
        decided = space.ask("POST", f"/_emulator/devices/{device['id']}/decisions", request)
        assert decided["tasks"][-1]["failure"] == "The password is wrong"
    activation = space.ask("GET", f"/_emulator/activations/{device['id']}")
    assert activation["failedAttempts"] == failures
    assert activation["status"] == ("BLOCKED" if failures == 5 else "ACTIVE")


@EACH
def test_a_state_moves_from_one_space_to_another(make_space, number):
    (one, other) = (make_space(), make_space())
    operation = one.operation(user=f"user {number}")
    state = one.session.get(one.url + "/_emulator/export", timeout=30).content
    response = other.session.post(
        other.url + "/_emulator/import", data=state, headers={"Content-Type": "application/json"}, timeout=30
    )
    assert response.ok, response.text
    other.ask("DELETE", f"/v2/operations/{operation}")
    assert (one.status(operation), other.status(operation)) == ("PENDING", "CANCELED")


@EACH
def test_what_belongs_to_another_space_is_not_found(make_space, number):
    (one, other) = (make_space(), make_space())
    operation = one.operation(user=f"user {number}")
    with pytest.raises(Refused) as refused:
        other.status(operation)
    assert refused.value.status == 400  # as PowerAuth Cloud says it
    configurations = [space.ask("GET", "/_emulator/configuration") for space in (one, other)]
    assert configurations[0]["sdkConfiguration"] != configurations[1]["sdkConfiguration"]
    assert configurations[0]["baseURL"] == one.url + "/enrollment-server"
    assert configurations[0]["cloudUser"] == CREDENTIALS[0]
