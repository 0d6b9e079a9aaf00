"""A payment from the bank's order to its callback, written as the pages say it; `PaymentFlowTests` has the same tests in Swift."""

import pytest
from mobile_token_emulator import Callbacks, Refused


@pytest.fixture
def pay(mobile_token_space):
    """The bank's order."""
    return lambda user="alice", **parameters: mobile_token_space.create_operation("payment", user, **parameters)


@pytest.fixture
def decide(mobile_token_space):
    """A decision by hand."""

    def decide(device, payment, decision):
        body = {"operationId": payment, "decision": decision}
        return mobile_token_space.ask("POST", f"/_emulator/devices/{device['id']}/decisions", body)

    return decide


def test_an_approved_payment_is_told_to_the_bank(mobile_token_space, mobile_token_device, mobile_token_callbacks, pay):
    mobile_token_device("alice", "approve")
    payment = pay()
    assert mobile_token_space.wait(payment)["status"] == "APPROVED"
    assert mobile_token_callbacks.next(operationId=payment, status="APPROVED")
    assert [told["status"] for told in mobile_token_callbacks.received] == ["PENDING", "APPROVED"]


def test_a_rejection_has_its_reason(mobile_token_space, mobile_token_device, pay):
    mobile_token_device("alice", "reject", reason="INCORRECT_DATA")
    assert mobile_token_space.wait(pay())["rejectReason"] == "INCORRECT_DATA"


def test_a_wrong_password_leaves_the_payment_pending(mobile_token_space, mobile_token_device, pay):
    mobile_token_device("alice", "wrongPassword")
    payment = pay()
    mobile_token_space.settle()
    shown = mobile_token_space.operation(payment)
    assert (shown["status"], shown["failureCount"]) == ("PENDING", 1)


def test_the_fifth_wrong_password_ends_the_payment(mobile_token_space, mobile_token_device, pay, decide):
    phone = mobile_token_device("alice", "never")
    payment = pay()
    for _ in range(5):
        decide(phone, payment, "wrongPassword")
    assert mobile_token_space.operation(payment)["status"] == "FAILED"
    assert mobile_token_space.ask("GET", f"/_emulator/activations/{phone['id']}")["status"] == "BLOCKED"


def test_a_payment_expires(mobile_token_space):
    mobile_token_space.freeze()
    payment = mobile_token_space.create_operation("payment", "alice", request={"expiresIn": 120})
    mobile_token_space.advance(119)
    assert mobile_token_space.operation(payment)["status"] == "PENDING"
    mobile_token_space.advance(2)
    assert mobile_token_space.operation(payment)["status"] == "EXPIRED"


def test_a_customer_may_take_time(mobile_token_space, mobile_token_device, pay):
    mobile_token_space.freeze()
    mobile_token_device("alice", "approve", after=30)
    payment = pay()
    mobile_token_space.advance(29, settle=True)
    assert mobile_token_space.operation(payment)["status"] == "PENDING"
    mobile_token_space.advance(1, settle=True)
    assert mobile_token_space.operation(payment)["status"] == "APPROVED"


def test_an_approval_whose_response_is_lost_counts_once(mobile_token_space, mobile_token_device, pay):
    mobile_token_space.freeze()
    mobile_token_space.fail("/api/auth/token/app/operation/authorize", first=1, reset="after")
    mobile_token_device("alice", "approve")
    payment = pay()
    assert mobile_token_space.wait(payment)["status"] == "APPROVED"
    mobile_token_space.advance(10, settle=True)  # the phone asks again
    history = mobile_token_space.ask("GET", f"/_emulator/operations/{payment}/history")["moments"]
    assert [moment["kind"] for moment in history].count("approved") == 1


def test_a_busy_server_takes_the_order_later(mobile_token_space, pay):
    mobile_token_space.fail("/v2/operations", first=1, status=503)
    with pytest.raises(Refused) as refused:
        pay()
    assert refused.value.status == 503
    assert mobile_token_space.operation(pay())["status"] == "PENDING"


def test_a_callback_is_sent_until_the_bank_takes_it(mobile_token_space, pay):
    mobile_token_space.freeze()
    with Callbacks() as bank:
        bank.register(mobile_token_space, maxAttempts=3)
        bank.status = 503
        payment = pay()
        assert bank.next(operationId=payment)
        bank.status = 200
        mobile_token_space.advance(2, settle=True)
        assert bank.next(operationId=payment)
        [delivery] = mobile_token_space.ask("GET", "/_emulator/deliveries")["items"]
        assert (delivery["state"], delivery["attempts"]) == ("delivered", 2)


def test_what_is_signed_is_what_was_ordered(mobile_token_space, pay):
    payment = mobile_token_space.operation(pay(amount="1710", currency="JPY", note="Rent"))
    assert payment["data"] == "A1*A1710JPY*ICZ5508000000001234567899*R2026*NRent"


def test_who_claims_a_payment_decides_it(mobile_token_space, mobile_token_device, pay):
    phone = mobile_token_device("bob", "approve")
    payment = mobile_token_space.ask("POST", "/v2/operations", {"template": "payment"})["operationId"]
    mobile_token_space.ask("POST", f"/_emulator/devices/{phone['id']}/claims", {"operationId": payment})
    decided = mobile_token_space.wait(payment)
    assert (decided["status"], decided["userId"]) == ("APPROVED", "bob")


def test_a_canceled_payment_cannot_be_approved(mobile_token_space, mobile_token_device, pay, decide):
    phone = mobile_token_device("alice", "never")
    payment = pay()
    mobile_token_space.ask("DELETE", f"/v2/operations/{payment}", statusReason="MISTAKE")
    with pytest.raises(Refused) as refused:
        decide(phone, payment, "approve")
    assert refused.value.status == 409 and "CANCELED" in refused.value.message
    assert mobile_token_space.operation(payment)["statusReason"] == "MISTAKE"
