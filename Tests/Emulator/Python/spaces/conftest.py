"""A server of its own for each test, in one process for all of them: what `/docs` says of `POST /_emulator/spaces`."""

import os

import pytest
import requests

SPACES_URL = os.environ["MOBILE_TOKEN_SPACES_URL"]
CREDENTIALS = (os.environ["MOBILE_TOKEN_CLOUD_USER"], os.environ["MOBILE_TOKEN_CLOUD_PASSWORD"])


class Refused(Exception):
    def __init__(self, response):
        super().__init__(f"{response.status_code} {response.text}")
        self.status = response.status_code


class Space:
    """One space, as a bank's backend and a developer see it."""

    def __init__(self, name, seed=None):
        self.session = requests.Session()
        self.session.auth = CREDENTIALS
        body = {"name": name} if seed is None else {"name": name, "seed": seed}
        response = self.session.post(SPACES_URL, json=body, timeout=30)
        response.raise_for_status()
        self.id, self.url = response.json()["id"], response.json()["url"]

    def ask(self, method, path, body=None, **query):
        response = self.session.request(method, self.url + path, json=body, params=query, timeout=30)
        if not response.ok:
            raise Refused(response)
        return response.json()

    def register(self, user):
        return self.ask("POST", "/v2/registrations", {"userId": user})

    def operation(self, template="login", user="alice", **more):
        return self.ask("POST", "/v2/operations", {"template": template, "userId": user, **more})["operationId"]

    def status(self, operation):
        return self.ask("GET", f"/v2/operations/{operation}")["status"]

    def clock(self, **change):
        return self.ask("PUT", "/_emulator/clock", change)["now"]

    def device(self, user="alice", **rule):
        return self.ask("POST", "/_emulator/devices", {"userId": user, "rule": rule})

    def wait_until(self, is_so):
        """Waits until something holds, by the server's events."""
        with self.session.get(self.url + "/_emulator/events", stream=True, timeout=60) as stream:
            # What comes first says that nothing can be missed any more.
            for line in stream.iter_lines():
                if line.startswith(b"event: ") and is_so():
                    return
        raise AssertionError("the server has stopped")

    def remove(self):
        self.session.delete(f"{SPACES_URL}/{self.id}", timeout=30).raise_for_status()
        self.session.close()


@pytest.fixture
def make_space(request):
    made = []

    def make(**options):
        made.append(Space(request.node.name, **options))
        return made[-1]

    yield make
    for space in made:
        space.remove()


@pytest.fixture
def space(make_space):
    return make_space()
