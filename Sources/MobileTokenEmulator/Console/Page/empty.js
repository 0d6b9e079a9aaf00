// What stands where there is nothing yet: what will, a button that makes the first, and the same as a command.

import { $, button, command, make } from "./dom.js";
import { openDialog } from "./dialogs.js";
import { postCommand } from "./curl.js";

const views = {
  activations: ["No devices yet", "A virtual phone lives in this server and needs no client. Or register a user, and scan the code with a client of yours.",
    "activation", "_emulator/devices", { userId: "alice", name: "Alice’s phone", rule: { decision: "never" } }],
  messages: ["The inboxes are empty", "A message waits in its user’s inbox until a client reads it.",
    "message", "_emulator/cloud/inbox/messages", { userId: "alice", subject: "Statement", summary: "It is ready", body: "Your statement is ready.", type: "text" }],
  pushes: ["No push messages yet", "What a real server would push to a device is kept here. Each registered device gets one for a new operation.",
    "operation", "_emulator/cloud/operations", { template: "login", userId: "alice" }],
  deliveries: ["Nothing was sent yet", "Each change of an operation or an activation is sent to the callbacks above.",
    "callback", "_emulator/cloud/callbacks", { name: "bank", type: "OPERATION", callbackUrl: `${location.protocol}//localhost:8080/hook`, attributes: ["status"] }],
  journal: ["No requests yet", "Every request is shown here, with the reason when it is refused.", "operation", "pa/v3/status", {}],
  templates: ["No templates", "The server was started without any."],
};

for (const [view, [title, text, kind, path, body]] of Object.entries(views)) {
  const label = `New ${kind}`;
  $(`${view}-list`).parentElement.querySelector(".empty").append(make("h2", title), make("p", text),
    ...(kind ? [button(label, () => openDialog($(`new-${kind}`)), { class: "primary" }), command(postCommand(path, body), label)] : []));
}
