import { $, copyButton, facts, make, status, toast } from "./dom.js";
import { ago, dateOf } from "./time.js";
import { ask } from "./server.js";
import { VirtualList } from "./virtual-list.js";
import { Collection } from "./collection.js";
import { action, dangerousAction, defineDetails, folded, qrCode, showDetails } from "./details.js";
import { addressOfFiltered } from "./address.js";
import { onSubmit } from "./dialogs.js";
import { deviceSection, makeDevice } from "./devices.js";

const attempts = (item) => `${item.failedAttempts} of ${item.maximumFailedAttempts}`;

export const activations = new Collection("activations", new VirtualList($("activations-list"), {
  key: (item) => item.id,
  open: (item) => showDetails("activations", item.id),
  render: (item) => make("div", { class: "activation" },
    status(item.status),
    make("span", { class: "main" }, item.userID),
    make("span", { class: "sub" }, item.name ?? make("span", { class: "mono" }, item.id)),
    make("span", { class: "number" }, make("span", { class: "narrow-only" }, "counter "), String(item.counter)),
    make("span", { class: `number ${item.failedAttempts ? "bad" : ""}` }, attempts(item), make("span", { class: "narrow-only" }, " failed")),
    ago(item.created, { class: "number time" })),
}), { describe: (item) => `Activation of ${item.userID}: ${item.status}` });

/** How a person calls an activation. */
export function activationName(id) {
  const item = activations.find(id);
  return item ? `${item.userID} · ${item.name ?? "unnamed"}` : id;
}

defineDetails("activations", (id) => ({
  prepare: () => activations.need(id),
  render: () => {
    const path = `activations/${encodeURIComponent(id)}`;
    const item = activations.find(id);
    const sections = [];
    const code = item.activationQRCode;
    if (code) {
      sections.push(make("div", { class: "card code" }, qrCode(code, "Activation QR code"), make("div", {},
        make("p", { class: "large mono" }, code.split("#")[0]),
        make("p", { class: "hint" }, "Scan it with a client, or type it in. It can be used once, for five minutes."),
        make("div", { class: "buttons" }, copyButton(code.split("#")[0], "Copy code"), copyButton(code, "Copy QR content")))));
    }
    sections.push(facts([
      ["User", item.userID], ["Device", item.name], ["Fingerprint", item.fingerprint, "copy"], ["Failed attempts", attempts(item)],
      ["Counter", item.counter], ["Protocol", item.version], ["Suite", item.suite], ["Status flags", item.flags.join(", ")],
      ["Block ends", item.blockExpires && dateOf(item.blockExpires)], ["Push messages", item.pushPlatform], ["Created", dateOf(item.created)],
    ]));
    if (item.status === "PENDING_COMMIT") sections.push(make("p", { class: "hint" }, "Commit it when the client shows the same fingerprint."));
    sections.push(...deviceSection(id));
    if (item.status === "ACTIVE") sections.push(counterForm(path));
    sections.push(make("p", {}, make("a", { href: addressOfFiltered("journal", item.id) }, "Its requests"), " · ",
      make("a", { href: addressOfFiltered("operations", item.userID) }, "Its user’s operations")));
    sections.push(folded("Identifiers", false, facts([["Identifier", item.id, "copy"], ["Application", item.applicationID], ["Push token", item.pushToken, "copy"]])));
    return { title: item.name ?? item.userID, status: item.status, body: sections, actions: actions(item, path) };
  },
}));

/** Rehearses a client that is behind the server. */
function counterForm(path) {
  const steps = make("input", { type: "number", min: "1", max: "100000", value: "1", inputmode: "numeric", "data-action": "steps" });
  const move = async () => {
    const item = await ask(`${path}/counter`, { method: "POST", body: { advance: Number(steps.value) } });
    toast(`The server’s counter is ${item.counter}`);
  };
  return make("div", { class: "card" },
    make("h3", {}, "Move the server’s counter ahead"),
    make("p", { class: "hint" }, "The client is then behind by so many signatures; it recovers from up to 20."),
    make("div", { class: "buttons" }, make("label", { class: "check" }, "Steps ", steps), action("Move", move)));
}

function actions(item, path) {
  const buttons = [];
  const commit = () => ask(`cloud/registrations/${encodeURIComponent(item.id)}/commit`, { method: "POST", body: {} });
  if (item.status === "PENDING_COMMIT") buttons.push(action("Commit", commit, "primary"));
  if (item.status === "ACTIVE") buttons.push(action("Block", () => ask(`${path}/block`, { method: "POST" })));
  // Only version 4 of the protocol knows blocks that end.
  const blockForAMinute = () => ask(`${path}/block`, { method: "POST", body: { seconds: 60 } });
  if (item.status === "ACTIVE" && item.version === "4.0") buttons.push(action("Block for a minute", blockForAMinute));
  if (item.status === "BLOCKED") buttons.push(action("Unblock", () => ask(`${path}/unblock`, { method: "POST" })));
  if (item.status !== "REMOVED") buttons.push(dangerousAction("Remove", "Remove for good?", () => ask(path, { method: "DELETE" })));
  return buttons;
}

async function register(userID) {
  const flags = $("activation-flags").value.split(/\s+/).filter(Boolean);
  const { registrationId } = await ask("cloud/registrations", { method: "POST", body: { userId: userID, flags } });
  return registrationId;
}

onSubmit($("new-activation"), async () => {
  const userID = $("activation-user").value.trim();
  const id = await ($("activation-virtual").checked ? makeDevice(userID) : register(userID));
  await activations.add(id);
  showDetails("activations", id);
});
