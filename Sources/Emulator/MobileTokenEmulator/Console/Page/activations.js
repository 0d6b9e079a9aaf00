import { $, capitalized, copyButton, facts, make, status, toast } from "./dom.js";
import { ago, dateOf, timeOf, until } from "./time.js";
import { ask, at } from "./server.js";
import { Collection } from "./collection.js";
import { action, dangerousAction, defineDetails, folded, qrCode, showDetails } from "./details.js";
import { addressOfFiltered } from "./address.js";
import { onSubmit } from "./dialogs.js";
import { activateDevice, deviceSection, makeDevice } from "./devices.js";

const attempts = (item) => `${item.failedAttempts} of ${item.maxFailedAttempts}`;
/** Of a registration that nobody has activated: how long its code can be used, or until when it could. */
function waited({ status, timestampExpires }) {
  if (timestampExpires === undefined) return undefined;
  return status === "CREATED" ? until(timestampExpires) : `the code expired at ${timeOf(timestampExpires)}`;
}

const narrow = (text) => make("span.narrow-only", text);

export const activations = new Collection("activations", (item) => make("div.activation",
  status(item.status),
  make("span.main", item.userId),
  make("span.sub", item.name ?? waited(item) ?? make("span.mono", item.id)),
  make("span.wide-cell.muted", item.applicationId),
  make("span.number", narrow("counter "), item.counter),
  make(item.failedAttempts ? "span.number.bad" : "span.number", attempts(item), narrow(" failed")),
  ago(item.timestampCreated, { class: "number time" })),
(item) => `Activation of ${item.userId}: ${item.status}`);

activations.applicationOf = (item) => item.applicationId;
activations.prepared = (item) => ({ ...item, id: item.registrationId });

export function activationName(id) {
  const item = activations.find(id);
  return item ? `${item.userId} · ${item.name ?? "unnamed"}` : id;
}

defineDetails("activations", (id) => ({
  prepare: () => activations.need(id),
  render: () => {
    const path = activations.pathOf(id);
    const item = activations.find(id);
    return {
      title: item.name ?? item.userId,
      status: item.status,
      body: [
        item.activationQrCodeData && codeCard(item),
        item.status === "REMOVED" && item.timestampExpires && make("p.bad", capitalized(waited(item)), "."),
        facts([
          ["User", item.userId], ["Device", item.name], ["Application", item.applicationId], ["Fingerprint", item.activationFingerprint, "copy"], ["Failed attempts", attempts(item)],
          ["Counter", item.counter], ["Protocol", item.protocolVersion], ["Suite", item.algorithm], ["Status flags", item.statusFlags.join(", ")],
          ["Block ends", item.timestampBlockExpire && dateOf(item.timestampBlockExpire)], ["Push messages", item.push?.platform], ["Created", dateOf(item.timestampCreated)],
        ]),
        item.status === "PENDING_COMMIT" && make("p.hint", "Commit it when the client shows the same fingerprint."),
        deviceSection(id),
        item.status === "ACTIVE" && counterForm(path),
        make("p", make("a", { href: addressOfFiltered("journal", item.id) }, "Its requests"), " · ",
          make("a", { href: addressOfFiltered("operations", item.userId) }, "Its user’s operations")),
        folded("Identifiers", false, facts([["Identifier", item.id, "copy"], ["Push token", item.push?.token, "copy"]])),
      ],
      actions: actions(item, path),
    };
  },
}));

const codeCard = ({ activationQrCodeData: code, timestampExpires }) => make("div.card.code", qrCode(code, "Activation QR code"), make("div",
  make("p.large.mono", code.split("#")[0]),
  make("p.hint", "Scan it with a client, or type it in. It can be used once: ", until(timestampExpires), "."),
  make("div.buttons", action("Activate with a virtual phone", () => activateDevice(code.split("#")[0])), copyButton(code.split("#")[0], "Copy code"), copyButton(code, "Copy QR content"))));

/** Rehearses a client that is behind the server. */
function counterForm(path) {
  const steps = make("input", { type: "number", min: "1", max: "100000", value: "1", inputmode: "numeric", "data-action": "steps" });
  const move = async () => toast(`The server’s counter is ${(await ask(`${path}/counter`, { advance: Number(steps.value) })).counter}`);
  return make("div.card",
    make("h3", "Move the server’s counter ahead"),
    make("p.hint", "The client is then behind by so many signatures; it recovers from up to 20."),
    make("div.buttons", make("label.check", "Steps ", steps), action("Move", move)));
}

function actions({ id, status, protocolVersion }, path) {
  const post = (path, body) => () => ask(path, body, "POST");
  return [
    status === "PENDING_COMMIT" && action("Commit", post(at`cloud/registrations/${id}/commit`, {}), "primary"),
    status === "ACTIVE" && action("Block", post(`${path}/block`)),
    // Only version 4 of the protocol knows blocks that end.
    status === "ACTIVE" && protocolVersion === "4.0" && action("Block for a minute", post(`${path}/block`, { seconds: 60 })),
    status === "BLOCKED" && action("Unblock", post(`${path}/unblock`)),
    status !== "REMOVED" && dangerousAction("Remove", "Remove for good?", () => ask(path, undefined, "DELETE")),
  ].filter(Boolean);
}

onSubmit($("new-activation"), async () => {
  const userId = $("activation-user").value.trim();
  const flags = $("activation-flags").value.split(/\s+/).filter(Boolean);
  const id = $("activation-virtual").checked ? await makeDevice(userId)
    : (await ask("cloud/registrations", { userId, flags, appId: $("activation-application").value || undefined })).registrationId;
  await activations.add(id);
  showDetails("activations", id);
});
