import { $, choice, facts, make, options } from "./dom.js";
import { ago } from "./time.js";
import { ask, at } from "./server.js";
import { activations } from "./activations.js";
import { action, detailsLink, moments, refreshDetails, section } from "./details.js";

export const devices = new Map();
const decisions = { approve: "approves", reject: "rejects", wrongPassword: "tries a wrong password", never: "waits for a person" };
const states = { waiting: "to come", underWay: "under way", done: "done", failed: "failed" };

export async function loadDevices() {
  const { items } = await ask("devices?limit=1000");
  devices.clear();
  for (const item of items) devices.set(item.id, item);
}

export async function loadDevice(id) {
  try { devices.set(id, await ask(at`devices/${id}`)); } catch { devices.delete(id); }
  refreshDetails(`activations/${id}`);
}

/** Nothing for the activation of a client. */
export function deviceSection(id) {
  const device = devices.get(id);
  if (!device) return [];
  const tasks = device.tasks.toReversed().map((task) => [ago(task.due),
    [detailsLink("operations", task.operationId, `${decisions[task.decision]}${task.isByHand ? ", by hand" : ""}`), `: ${states[task.state]}`, task.failure && make("p.bad", task.failure)]]);
  return section("Virtual device",
    make("p.hint", "It lives in this server: no client is needed."),
    facts([["Decides", described(device.rule)], ["Cannot look", device.failure]]),
    ruleForm(device), tasks.length && moments(tasks));
}

const described = ({ decision, after, reason }) =>
  [decisions[decision], decision !== "never" && after && `after ${after} s`, decision === "reject" && `with the reason ${reason}`].filter(Boolean).join(", ");

function ruleForm(device) {
  const decision = choice(Object.entries(decisions), device.rule.decision, { "data-action": "decision" });
  const after = make("input", { type: "number", min: "0", max: "86400", value: device.rule.after, inputmode: "numeric", "data-action": "after" });
  const change = async () => {
    const rule = { ...device.rule, decision: decision.value, after: Number(after.value) };
    devices.set(device.id, await ask(at`devices/${device.id}/rule`, rule, "PUT"));
    refreshDetails(`activations/${device.id}`);
  };
  return make("div.card",
    make("div.fields", make("label", "What it does", decision), make("label", "After, in seconds", after)),
    make("div.buttons", action("Set the rule", change)));
}

/** Those that can decide by hand; those that leave it to a person first. */
export const deciders = (operation) => [...devices.values()]
  .filter((one) => operation.userId !== undefined && one.userId === operation.userId && activations.find(one.id)?.status === "ACTIVE")
  .sort((one, other) => (other.rule.decision === "never") - (one.rule.decision === "never"));

$("activation-virtual").onchange = ({ target }) => {
  $("virtual-fields").hidden = !target.checked;
  $("registration-fields").hidden = target.checked;
};
$("virtual-decision").append(...options(Object.entries(decisions).toReversed()));

async function create(body) {
  const device = await ask("devices", body);
  devices.set(device.id, device);
  return device.id;
}

export const makeDevice = (userId) =>
  create({ userId, appId: $("activation-application").value || undefined, version: $("virtual-version").value, name: $("virtual-name").value.trim() || undefined, rule: { decision: $("virtual-decision").value } });

/** In the place of a client that scans the code. */
export const activateDevice = (activationCode) => create({ activationCode, rule: { decision: "never" } });
