// The buttons of a phone: pressing them is the decision, which a virtual device of the user signs and sends.

import { button, make } from "./dom.js";
import { ask } from "./server.js";

let count = 0;  // the same phone may be there twice: beside the list, and in the opened operation

/** Approve, Reject and the password. `attempt(button, perform)` runs a decision and shows what went wrong. */
export function decisionControls(operation, device, isFlipped, attempt) {
  const name = `password-${count += 1}`;
  const wrong = make("input", { type: "radio", name, value: "wrong", "data-action": `password ${operation.id} ${device.id} wrong` });
  const right = make("input", { type: "radio", name, value: "right", checked: true, "data-action": `password ${operation.id} ${device.id} right` });
  const key = (label, kind, decision) => button(label, ({ currentTarget }) => attempt(currentTarget, () => ask(`devices/${encodeURIComponent(device.id)}/decisions`, {
    method: "POST", body: { operationId: operation.id, decision: decision(), proximityCode: operation.proximityCode },
  })), { class: kind, "data-action": `${label} ${device.id}`, "aria-label": `${label} as ${device.name}` });
  const keys = [key("Reject", "", () => "reject"), key("Approve", "primary", () => (wrong.checked ? "wrongPassword" : "approve"))];
  return make("div.controls", { role: "group", "aria-label": `Decide as ${device.name}` },
    make("fieldset.password", make("legend", "Password"), make("label.choice", right, "right"), make("label.choice", wrong, "wrong")),
    make("div.keys", isFlipped ? keys.reverse() : keys));
}
