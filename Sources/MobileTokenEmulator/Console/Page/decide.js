// The buttons of a phone: pressing them is the decision, which a virtual device of the user signs and sends.

import { make } from "./dom.js";
import { ask } from "./server.js";

let count = 0;  // the same phone may be there twice: beside the list, and in the opened operation

/**
 * Approve, Reject and the password. `attempt(button, perform)` runs a decision and shows what went wrong.
 */
export function decisionControls(operation, device, isFlipped, attempt) {
  const name = `password-${count += 1}`;
  const choice = (value, label) => make("label", { class: "choice" },
    make("input", { type: "radio", name, value, checked: value === "right", "data-action": `password ${device.id} ${value}` }), label);
  const controls = make("div", { class: "controls", role: "group", "aria-label": `Decide as ${device.name}` },
    make("fieldset", { class: "password" }, make("legend", {}, "Password"), choice("right", "right"), choice("wrong", "wrong")));
  const send = (decision) => ask(`devices/${encodeURIComponent(device.id)}/decisions`, {
    method: "POST", body: { operationId: operation.id, decision, proximityCode: operation.proximityCode },
  });
  const isWrong = () => controls.querySelector("[value=wrong]").checked;
  const button = (label, kind, decision) => make("button", {
    type: "button", class: kind, "data-action": `${label} ${device.id}`, "aria-label": `${label} as ${device.name}`,
    onclick: (event) => attempt(event.currentTarget, () => send(decision())),
  }, label);
  const buttons = [button("Reject", "", () => "reject"), button("Approve", "primary", () => (isWrong() ? "wrongPassword" : "approve"))];
  controls.append(make("div", { class: "keys" }, isFlipped ? buttons.reverse() : buttons));
  return controls;
}
