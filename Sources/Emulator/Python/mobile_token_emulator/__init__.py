"""The development server: `start` runs one, and a `Space` is a server within it for one test."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import queue
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Mapping

__all__ = ["Callbacks", "Refused", "Server", "Space", "program", "start"]


def program() -> str:
    """Returns the path of the program: the one in this package, unless MOBILE_TOKEN_EMULATOR names another."""
    named = os.environ.get("MOBILE_TOKEN_EMULATOR")
    path = named or os.path.join(os.path.dirname(__file__), "bin", "mobile-token-emulator")
    if not named and not os.path.exists(path):
        raise RuntimeError(
            "this package is installed without the program: install a wheel made by Scripts/wheel, set MOBILE_TOKEN_EMULATOR to the "
            "program's path, or run the tests under `mobile-token-emulator exec`"
        )
    return path


_SPACES = "/_emulator/spaces"

# What `exec` runs beside the server. It ends when nobody holds the other end of its input any more, whatever became of the
# process that did, and the server ends with it.
_TELLER = """
import json, os, sys
print(json.dumps({name: value for name, value in os.environ.items() if name.startswith("MOBILE_TOKEN_")}), flush=True)
sys.stdin.read()
"""


def start(*options: str, within: float = 30) -> Server:
    """Starts a server on a free port of the loopback interface.

    `options` are those of the program, such as `"--server=2.1"`. The server ends with `stop()`, at the end of a `with`
    statement, or with this process.
    """
    process = subprocess.Popen(
        [program(), "exec", *options, "--", sys.executable, "-c", _TELLER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # The keys that interrupt this process would interrupt that one too, before it was stopped.
        start_new_session=True,
    )
    timer = threading.Timer(within, process.kill)
    timer.start()
    line = process.stdout.readline()
    timer.cancel()
    if not line:
        process.stdin.close()
        raise RuntimeError(f"the server did not start; it ended with {process.wait()}")
    return Server(json.loads(line), process)


class Refused(Exception):
    """A response that is no success. `code` and `message` are the server's, `entry` is the page of the console that says why."""

    def __init__(self, status: int, text: str, entry: str | None = None):
        super().__init__(f"{status} {text}" + (f"; see {entry}" if entry else ""))
        self.status, self.text, self.entry = status, text, entry
        try:
            error = json.loads(text)["responseObject"]
        except (ValueError, KeyError, TypeError):
            error = {}
        self.code: str | None = error.get("code")
        self.message: str | None = error.get("message")


class _Calls:
    """What a server and a space have in common."""

    def __init__(self, url: str, credentials: tuple[str, str], ca_file: str | None):
        self.url = url
        self._credentials, self._ca_file = credentials, ca_file
        token = b64encode(":".join(credentials).encode()).decode()
        self._headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]  # never through a proxy
        if ca_file:
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca_file)))
        self._opener = urllib.request.build_opener(*handlers)

    def ask(self, method: str, path: str, body: Any = None, timeout: float = 90, **query: Any) -> Any:
        """Makes any call that `/docs` describes, and returns its JSON. Raises `Refused`."""
        if query:
            path += "?" + urllib.parse.urlencode(query)
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, self._headers, method=method)
        try:
            with self._opener.open(request, timeout=timeout) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode(errors="replace"), error.headers.get("X-Emulator-Entry")) from None
        return json.loads(text) if text else None

    def configuration(self) -> dict[str, Any]:
        """Returns what a client SDK is configured with: `baseURL`, `sdkConfiguration`, and so on."""
        return self.ask("GET", "/_emulator/configuration")

    def register(self, user: str) -> dict[str, Any]:
        """Registers a device for a user; `activationCode` and `registrationId` are in the result."""
        return self.ask("POST", "/v2/registrations", {"userId": user})

    def commit(self, registration_id: str) -> None:
        """Lets a registration become active, after its device has activated."""
        self.ask("POST", f"/v2/registrations/{registration_id}/commit", {})

    def create_operation(self, template: str, user: str, /, *, request: Mapping[str, Any] | None = None, **parameters: str) -> str:
        """Creates an operation from a template, and returns its identifier. `request` has further members of the call.

        Raises `TypeError` for a parameter that the template lacks, and for a member that the call lacks.
        """
        if request:
            self._check_members(request)
        if parameters:
            self._check_parameters(template, parameters)
        body = {"template": template, "userId": user, "parameters": parameters, **(request or {})}
        return self.ask("POST", "/v2/operations", body)["operationId"]

    def _check_members(self, request: Mapping[str, Any]) -> None:
        """Refuses members that the call lacks: PowerAuth Cloud, and the server like it, would pass over them."""
        description = self.ask("GET", "/openapi.json")
        schema = description["paths"]["/v2/operations"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        if "$ref" in schema:
            schema = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        known = schema["properties"]
        for name in request:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}"
                raise TypeError(f"a new operation has no member '{name}': {hint}")

    def _check_parameters(self, template: str, parameters: Mapping[str, str]) -> None:
        """Refuses parameters that a template lacks: PowerAuth Cloud, and the server like it, would pass over them."""
        templates = self.ask("GET", "/_emulator/templates")["items"]
        known = next((one["parameters"] for one in templates if one["name"] == template), None)
        if known is None:
            return  # the server says which template was meant
        for name in parameters:
            if name not in known:
                raise TypeError(f"the template '{template}' has no parameter '{name}': there are {', '.join(known) or 'none'}")

    def operation(self, operation_id: str) -> dict[str, Any]:
        """Returns an operation as the bank sees it."""
        return self.ask("GET", f"/v2/operations/{operation_id}")

    def wait(self, operation_id: str, within: float = 30) -> dict[str, Any]:
        """Waits until an operation is decided, canceled or expired, and returns it. Raises `TimeoutError`."""
        deadline = time.monotonic() + within
        while True:
            left = deadline - time.monotonic()
            wait = max(0, min(60, int(left)))
            summary = self.ask("GET", f"/_emulator/operations/{operation_id}", wait=wait, until="final")
            if summary["status"] != "PENDING":
                return summary
            if left <= 1:
                raise TimeoutError(f"the operation is still pending after {within} s: {self._awaited(operation_id)}")

    def _awaited(self, operation_id: str) -> str:
        """Returns what a pending operation waits for, and its page in the console."""
        history = self.ask("GET", f"/_emulator/operations/{operation_id}/history")
        left = f"; it expires in {history['expiresIn']} s" if "expiresIn" in history else ""
        return f"{history.get('awaited', 'decided meanwhile')}{left}; see {self.url}/console/#operations/{operation_id}"

    def make_device(self, user: str, decision: str = "never", /, **rule: Any) -> dict[str, Any]:
        """Makes a virtual phone of a user that decides by a rule: `approve`, `reject`, `wrongPassword` or `never`."""
        return self.ask("POST", "/_emulator/devices", {"userId": user, "rule": {"decision": decision, **rule}})

    def freeze(self) -> None:
        """Stops the clock."""
        self.ask("PUT", "/_emulator/clock", {"mode": "manual"})

    def advance(self, seconds: float, settle: bool = False) -> None:
        """Moves the clock on. `settle` waits before and after it until devices and callbacks have done what is due."""
        self.ask("PUT", "/_emulator/clock", {"advance": seconds, "settle": settle})

    def settle(self, within: float = 30) -> None:
        """Waits until no device and no callback has anything due or under way. Raises `Refused` when that takes longer."""
        self.ask("POST", "/_emulator/settle", {"within": within})

    def fail(self, path: str, /, first: int | None = None, **effect: Any) -> None:
        """Makes requests to a path fail: `space.fail("/api/**", status=503)`. `first` is how many of them."""
        match = {"path": path} if first is None else {"path": path, "first": first}
        self.ask("POST", "/_emulator/faults", {"match": match, "effect": effect})

    def journal(self, **filters: Any) -> list[dict[str, Any]]:
        """Returns the requests that the filters choose, such as `verdict="refused"`, newest first."""
        return self.ask("GET", "/_emulator/journal", **filters)["entries"]


class Server(_Calls):
    """A running server."""

    def __init__(self, environment: Mapping[str, str], process: subprocess.Popen[bytes] | None = None):
        """Takes the variables that `exec` sets. Without `process` the server is somebody else's, and is not stopped."""
        self.environment = dict(environment)
        self._process = process
        spaces_url = environment.get("MOBILE_TOKEN_SPACES_URL")
        url = spaces_url[: -len(_SPACES)] if spaces_url else environment["MOBILE_TOKEN_EMULATOR_URL"].rstrip("/")
        #: A server that somebody runs keeps the space of a failed test until the test's next run, for its link.
        self._stays_afterwards = not spaces_url
        user = environment.get("MOBILE_TOKEN_CLOUD_USER", "developer")
        super().__init__(url, (user, environment["MOBILE_TOKEN_CLOUD_PASSWORD"]), environment.get("MOBILE_TOKEN_CA_FILE"))

    @classmethod
    def running(cls) -> Server | None:
        """Returns the server that `exec` or `MOBILE_TOKEN_EMULATOR_URL` names, if any. It is not stopped."""
        is_named = "MOBILE_TOKEN_SPACES_URL" in os.environ or "MOBILE_TOKEN_EMULATOR_URL" in os.environ
        return cls(os.environ) if is_named else None

    def make_space(self, name: str, **options: Any) -> Space:
        """Makes a space: `seed=7` fixes its identifiers and keys, `origin={"scenario": …}` says what it begins with."""
        origin = {"from": options.pop("origin")} if "origin" in options else {}
        fitting = name.encode()[:255].decode(errors="ignore")
        return Space(self, self.ask("POST", _SPACES, {"name": fitting, **options, **origin}))

    def _make_space_again(self, name: str) -> Space:
        """Makes a space for a test, in the place of the one that an earlier run of it has left."""
        space = self.make_space(name)
        if self._stays_afterwards:
            for other in self.ask("GET", _SPACES)["items"]:
                if "failure" in other and other.get("name") == space.name:
                    with contextlib.suppress(Refused):  # another run has removed it
                        self.ask("DELETE", f"{_SPACES}/{other['id']}")
        return space

    def stop(self) -> None:
        """Ends the server that `start` has started."""
        if self._process:
            self._process.stdin.close()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process.stdout.close()
            self._process = None

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Space(_Calls):
    """A server within the server. Nothing in it can be seen from another one."""

    def __init__(self, server: Server, made: Mapping[str, Any]):
        # Where this process finds the server: it may be in a container that knows itself by another address.
        url = server.url + urllib.parse.urlsplit(made["url"]).path
        super().__init__(url, server._credentials, server._ca_file)
        self.id: str = made["id"]
        self.name: str | None = made.get("name")
        #: What a client SDK is configured with, beside `configuration()["sdkConfiguration"]`.
        self.base_url = f"{url}/enrollment-server"
        self._server = server

    def mark_failed(self, reason: str) -> None:
        """Says that the test failed: `exec --report` and `--keep-failed` keep the space's state then."""
        self._server.ask("POST", f"{_SPACES}/{self.id}/failure", {"reason": reason[:60_000]})

    def remove(self) -> None:
        self._server.ask("DELETE", f"{_SPACES}/{self.id}")


class Callbacks:
    """The bank's address: an HTTP server that keeps what it is sent.

    It listens on loopback, or, when the server reaches this process by the name of another `host`, to every address.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        #: Everything that came, oldest first.
        self.received: list[dict[str, Any]] = []
        #: The status to respond with. What fails is sent again, if the callback says so.
        self.status = 200
        self._new: queue.Queue[dict[str, Any]] = queue.Queue()
        callbacks = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                callbacks.received.append(body)
                callbacks._new.put(body)
                self.send_response(callbacks.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer((host if host == "127.0.0.1" else "", 0), Handler)
        self.url = f"http://{host}:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def register(self, space: _Calls, kind: str = "OPERATION", **more: Any) -> None:
        """Has the server tell this address of `OPERATION` or `ACTIVATION` changes."""
        body = {"name": "bank", "type": kind, "callbackUrl": self.url, **more}
        body.setdefault("attributes", ["status", "userId"])
        space.ask("POST", "/v2/callbacks", body)

    def next(self, within: float = 30, **members: Any) -> dict[str, Any]:
        """Waits for the next callback that has these members, and returns it. Those before it are passed over."""
        deadline = time.monotonic() + within
        while True:
            try:
                body = self._new.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"no callback with {members} within {within} s, but {self.received}") from None
            if all(body.get(name) == value for name, value in members.items()):
                return body

    def __enter__(self) -> Callbacks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
