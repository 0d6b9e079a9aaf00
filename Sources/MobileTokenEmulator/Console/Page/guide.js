// What a visitor does first: three buttons, and the same as commands.

import { $, command, make } from "./dom.js";
import { ask, root } from "./server.js";
import { operations } from "./operations.js";
import { activations } from "./activations.js";
import { devices, deciders } from "./devices.js";
import { postCommand } from "./curl.js";

const user = "alice";
const newDevice = { userId: user, name: "Alice’s phone", rule: { decision: "never" } };
const newPayment = { template: "payment", userId: user, parameters: { amount: "1999.00", note: "A new bicycle" } };
let isBegun = false;

async function makeDevice() {
  const device = await ask("devices", { method: "POST", body: newDevice });
  devices.set(device.id, device);
  await activations.add(device.id);
}

async function makePayment() { await operations.add((await ask("cloud/operations", { method: "POST", body: newPayment })).operationId); }

function steps() {
  const device = [...devices.values()].find((one) => one.userID === user && activations.find(one.id)?.status === "ACTIVE");
  const all = [...operations.items.values()].filter((one) => one.userID === user);
  const waiting = all.findLast((one) => one.status === "PENDING" && deciders(one).length);
  const approved = all.some((one) => one.status === "APPROVED");
  const decision = { operationId: waiting?.id ?? "OPERATION", decision: "approve" };
  const path = `devices/${device?.id ?? "DEVICE"}/decisions`;
  return [
    ["Make a phone for alice", Boolean(device), true, makeDevice, postCommand("_emulator/devices", newDevice)],
    ["Send her a payment", Boolean(waiting) || approved, Boolean(device), makePayment, postCommand("_emulator/cloud/operations", newPayment)],
    ["Approve it", approved, Boolean(waiting), () => ask(path, { method: "POST", body: decision }), postCommand(`_emulator/${path}`, decision)],
  ];
}

/** Shows the steps while there is nothing yet, and until all that was begun is done. */
export function showGuide() {
  const all = steps();
  const isNew = operations.total === 0;
  const isDone = all.every(([, done]) => done);
  const isShown = isNew || isBegun && !isDone;
  $("guide").hidden = !isShown;
  $("operations-frame").hidden = isNew;
  if (!isShown) return;
  const next = all.findIndex(([, done]) => !done);
  const opened = $("guide").querySelector("details")?.open;
  const hadFocus = $("guide").contains(document.activeElement) && document.activeElement.matches("button");
  $("guide").replaceChildren(
    make("h2", {}, "See an approval in three clicks"),
    make("ol", {}, all.map(([label, done, isPossible, perform], index) => make("li", { class: done ? "done" : "" },
      make("button", {
        type: "button", class: index === next ? "primary" : "", disabled: done || !isPossible, "data-step": index + 1,
        onclick: async (event) => {
          isBegun = true;
          event.currentTarget.disabled = true;
          try { await perform(); showGuide(); } catch (failure) { $("guide").append(make("p", { class: "error", role: "alert" }, failure.message)); event.target.disabled = false; }
        },
      }, make("span", { "aria-hidden": "true", class: "number" }, done ? "✓" : index + 1), label)))),
    make("details", { open: opened }, make("summary", {}, "The same from a shell"), all.map(([label, , , , text]) => command(text, label))));
  if (hadFocus) $("guide").querySelector("button.primary")?.focus();
}
