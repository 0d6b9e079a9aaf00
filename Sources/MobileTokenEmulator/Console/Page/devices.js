import { $, facts, make } from "./dom.js";
import { ago } from "./time.js";
import { ask } from "./server.js";
import { activations } from "./activations.js";
import { action, detailsLink, refreshDetails, section } from "./details.js";

/** The virtual devices there are, by the identifiers of their activations. */
export const devices = new Map();
const decisions = { approve: "approves", reject: "rejects", wrongPassword: "tries a wrong password", never: "waits for a person" };
const states = { waiting: "to come", underWay: "under way", done: "done", failed: "failed" };

export async function loadDevices() {
  const { items } = await ask("devices?limit=1000");
  devices.clear();
  for (const item of items) devices.set(item.id, item);
}

/** Fetches one that has changed. */
export async function loadDevice(id) {
  try { devices.set(id, await ask(`devices/${encodeURIComponent(id)}`)); } catch { devices.delete(id); }
  refreshDetails(`activations/${id}`);
}

/** It is gone, and its activation with it. */
export function forgetDevice(id) {
  devices.delete(id);
  refreshDetails(`activations/${id}`);
}

/** What the server does in a person's place with an activation; nothing when a client of its own has it. */
export function deviceSection(id) {
  const device = devices.get(id);
  if (!device) return [];
  return section("Virtual device",
    make("p", { class: "hint" }, "It lives in this server: no client is needed."),
    facts([["Decides", described(device.rule)], ["Cannot look", device.failure]]),
    ruleForm(device), taskList(device.tasks));
}

const described = ({ decision, after, reason }) =>
  [decisions[decision], decision !== "never" && after ? `after ${after} s` : "", decision === "reject" ? `with the reason ${reason}` : ""].filter(Boolean).join(", ");

function ruleForm(device) {
  const decision = make("select", { "data-action": "decision" },
    ...Object.entries(decisions).map(([value, text]) => make("option", { value, selected: value === device.rule.decision }, text)));
  const after = make("input", { type: "number", min: "0", max: "86400", value: device.rule.after, inputmode: "numeric", "data-action": "after" });
  const change = async () => {
    const rule = { ...device.rule, decision: decision.value, after: Number(after.value) };
    devices.set(device.id, await ask(`devices/${encodeURIComponent(device.id)}/rule`, { method: "PUT", body: rule }));
    refreshDetails(`activations/${device.id}`);
  };
  return make("div", { class: "card" },
    make("div", { class: "fields" }, make("label", {}, "What it does", decision), make("label", {}, "After, in seconds", after)),
    make("div", { class: "buttons" }, action("Set the rule", change)));
}

const taskList = (tasks) => (tasks.length ? make("ol", { class: "moments" }, ...tasks.toReversed().map((task) => make("li", {},
  ago(task.due),
  make("div", {}, detailsLink("operations", task.operationID, `${decisions[task.decision]}${task.isByHand ? ", by hand" : ""}`), `: ${states[task.state]}`,
    task.failure ? make("p", { class: "bad" }, task.failure) : null)))) : undefined);

/** The virtual devices that can decide an operation by hand; those that leave it to a person first. */
export const deciders = (operation) => [...devices.values()]
  .filter((one) => operation.userID !== undefined && one.userID === operation.userID && activations.find(one.id)?.status === "ACTIVE")
  .sort((one, other) => (other.rule.decision === "never") - (one.rule.decision === "never"));

// A registration that a client activates, or a device that the server makes.
const isVirtual = $("activation-virtual");
function showKind() {
  $("virtual-fields").hidden = !isVirtual.checked;
  $("registration-fields").hidden = isVirtual.checked;
}
isVirtual.addEventListener("change", showKind);
showKind();

/** Makes the virtual device that the dialog describes, and returns the identifier of its activation. */
export async function makeDevice(userID) {
  const body = { userId: userID, version: $("virtual-version").value, rule: { decision: $("virtual-decision").value } };
  const name = $("virtual-name").value.trim();
  const device = await ask("devices", { method: "POST", body: name ? { ...body, name } : body });
  devices.set(device.id, device);
  return device.id;
}
