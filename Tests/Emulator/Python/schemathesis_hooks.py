"""What `schemathesis` does beside calling every route: what one call leaves behind must not strike the next."""

import os

import requests
import schemathesis

URL = os.environ["EMULATOR_URL"]


@schemathesis.hook
def before_call(context, case, kwargs):
    # Who waits for something to happen is tested elsewhere, and nothing happens here.
    wait = (case.query or {}).get("wait")
    if str(wait).isdecimal() and 0 < int(wait) <= 60:
        case.query["wait"] = 0
    # Here something always goes on, such as a device that waits for a slow response.
    if case.path == "/_emulator/settle" and isinstance(case.body, dict):
        within = case.body.get("within", 5)
        if isinstance(within, (int, float)) and not isinstance(within, bool) and 0 < within <= 60:
            case.body["within"] = 0.01


@schemathesis.hook
def after_call(context, case, response):
    # A fault would do what it is made for: spoil the responses to all calls after it. A scenario may have some, too.
    if case.path in ("/_emulator/faults", "/_emulator/scenario") and 200 <= response.status_code < 300:
        requests.delete(f"{URL}/_emulator/faults", timeout=10).raise_for_status()
    # Real servers answer 500 to a device whose request they cannot read, and so does this one. What is unexpected has another code.
    if case.path.startswith(("/api/", "/pa/")) and response.status_code == 500:
        if response.json()["responseObject"]["code"] == "ERROR_GENERIC":
            response.status_code = 400
