"""Makes a registration, an operation and a callback with a client that was generated from the server's description.

Usage: use_generated_client.py FOLDER URL USER PASSWORD, where FOLDER holds the generated package `generated`.
"""

import base64
import sys

folder, url, user, password = sys.argv[1:5]
sys.path.insert(0, folder)

from generated import AuthenticatedClient
from generated.api.cloud_api import (
    cancel_operation,
    list_callbacks,
    get_operation,
    get_registration,
    create_callback,
    create_operation,
    create_registration,
)
from generated.models import (
    NewCallback,
    NewCallbackType,
    NewOperation,
    NewOperationParametersType0,
    NewRegistration,
    OperationStatus,
    Refusal,
)

credentials = base64.b64encode(f"{user}:{password}".encode()).decode()
client = AuthenticatedClient(base_url=url, token=credentials, prefix="Basic")

registration = create_registration.sync(client=client, body=NewRegistration(user_id="alice", flags=["A"]))
assert registration.user_id == "alice" and registration.flags == ["A"], registration
assert registration.activation_qr_code_data.startswith(registration.activation_code + "#"), registration
assert get_registration.sync(registration.registration_id, client=client) == registration

parameters = NewOperationParametersType0.from_dict({"amount": 12.5})
operation = create_operation.sync(
    client=client, body=NewOperation(user_id="alice", template="payment", parameters=parameters)
)
assert operation.status is OperationStatus.PENDING and "12.5" in operation.data, operation
canceled = cancel_operation.sync(operation.operation_id, client=client, status_reason="CHANGED_MIND")
assert canceled.status is OperationStatus.CANCELED and canceled.status_reason == "CHANGED_MIND", canceled
assert get_operation.sync(operation.operation_id, client=client) == canceled

callback = create_callback.sync(
    client=client, body=NewCallback(name="bank", type_=NewCallbackType.OPERATION, callback_url="http://127.0.0.1:1/hook")
)
assert callback.max_attempts == 1 and list_callbacks.sync(client=client).callbacks == [callback], callback

refused = create_operation.sync(client=client, body=NewOperation(template="nothing"))
assert isinstance(refused, Refusal) and refused.response_object.code == "ERROR_REQUEST", refused
assert refused.response_object.violations[0].field_name == "template", refused
print("done")
