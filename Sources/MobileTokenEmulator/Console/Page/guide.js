// What a visitor does first: three buttons, and the same as commands.

import { $, command, make } from "./dom.js";
import { ask } from "./server.js";
import { operations } from "./operations.js";
import { activations } from "./activations.js";
import { devices, deciders } from "./devices.js";
import { postCommand } from "./curl.js";

const guide = $("guide");
const user = "alice";
const newDevice = { userId: user, name: "Alice’s phone", rule: { decision: "never" } };
const newPayment = { template: "payment", userId: user, parameters: { amount: "1999.00", note: "A new bicycle" } };
let isBegun = false;

/** Each with what it is called, whether it is done, whether it can be, what it sends, and what follows. */
function steps() {
  const device = [...devices.values()].find((one) => one.userID === user && activations.find(one.id)?.status === "ACTIVE");
  const all = [...operations.items.values()].filter((one) => one.userID === user);
  const waiting = all.findLast((one) => one.status === "PENDING" && deciders(one).length);
  const approved = all.some((one) => one.status === "APPROVED");
  return [
    ["Make a phone for alice", Boolean(device), true, "devices", newDevice, (made) => { devices.set(made.id, made); return activations.add(made.id); }],
    ["Send her a payment", Boolean(waiting) || approved, Boolean(device), "cloud/operations", newPayment, (made) => operations.add(made.operationId)],
    ["Approve it", approved, Boolean(waiting), `devices/${device?.id ?? "DEVICE"}/decisions`, { operationId: waiting?.id ?? "OPERATION", decision: "approve" }, () => {}],
  ];
}

async function perform(pressed, path, body, follow) {
  isBegun = true;
  pressed.disabled = true;
  try {
    await follow(await ask(path, { method: "POST", body }));
    showGuide();
  } catch (failure) {
    guide.append(make("p.error", { role: "alert" }, failure.message));
    pressed.disabled = false;
  }
}

/** Shows the steps while there is nothing yet, and until all that was begun is done. */
export function showGuide() {
  const all = steps();
  const isNew = operations.total === 0;
  const next = all.findIndex(([, done]) => !done);
  guide.hidden = !(isNew || isBegun && next >= 0);
  $("operations-frame").hidden = isNew;
  if (guide.hidden) return;
  const isOpen = guide.querySelector("details")?.open;
  const hadFocus = guide.contains(document.activeElement) && document.activeElement.matches("button");
  guide.replaceChildren(
    make("h2", "See an approval in three clicks"),
    make("ol", all.map(([label, done, isPossible, path, body, follow], index) => make("li", { class: done && "done" }, make("button", {
      type: "button", class: index === next && "primary", disabled: done || !isPossible, "data-step": index + 1,
      onclick: ({ currentTarget }) => perform(currentTarget, path, body, follow),
    }, make("span.number", { "aria-hidden": "true" }, done ? "✓" : String(index + 1)), label)))),
    make("details", { open: isOpen }, make("summary", "The same from a shell"), all.map(([label, , , path, body]) => command(postCommand(`_emulator/${path}`, body), label))));
  if (hadFocus) guide.querySelector("button.primary")?.focus();
}
