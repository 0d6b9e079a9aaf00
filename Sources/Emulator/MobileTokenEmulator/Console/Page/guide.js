// What there is to do where there is nothing yet: buttons, and the same as commands.

import { $, button, command, make, tried } from "./dom.js";
import { go } from "./address.js";
import { ask } from "./server.js";
import { operations } from "./operations.js";
import { activations } from "./activations.js";
import { devices, deciders } from "./devices.js";
import { openDialog } from "./dialogs.js";
import { postCommand } from "./curl.js";

const guide = $("guide");
const user = "alice";
const newDevice = { userId: user, name: "Alice’s phone", rule: { decision: "never" } };
const newPayment = { template: "payment", userId: user, parameters: { amount: "1999.00" } };
const error = make("p.error", { role: "alert" });
let [isBegun, isBusy, isOver] = [false, false, false];

async function sendPayment(device) {
  if (!device) {
    const made = await ask("devices", newDevice);
    devices.set(made.id, made);
    await activations.add(made.id);
  }
  await operations.add((await ask("cloud/operations", newPayment)).operationId);
}

/** What comes after the first approval. */
function ending() {
  const leave = (view) => { isOver = false; guide.hidden = true; if (view) go({ view }); };
  const card = (title, text, perform) => button(make("span", make("b", title), make("span.hint", text)), perform);
  return [
    make("h2", "Approved. What comes next?"),
    make("div.next",
      card("Connect your back end", "Addresses and keys, for .env, Spring, pytest and curl", () => leave("connect")),
      card("Add a callback", "The bank is told of each decision", () => { leave("callbacks"); openDialog($("new-callback")); }),
      card("Break something", "A busy server, a lost answer, a slow network", () => leave("faults"))),
    make("div.buttons", button("Not now", () => leave(), { class: "quiet" })),
  ];
}

/** Shows the steps while there is nothing yet, and until all that was begun is done. */
export function showGuide() {
  const device = [...devices.values()].find((one) => one.userId === user && activations.find(one.id)?.status === "ACTIVE");
  const all = [...operations.items.values()].filter((one) => one.userId === user);
  const waiting = all.findLast((one) => one.status === "PENDING" && deciders(one).length);
  const isDone = all.some((one) => one.status === "APPROVED");
  const isNew = operations.total === 0;
  if (isNew) isOver = false;
  if (isBegun && isDone) {
    isBegun = false;
    isOver = true;
    guide.replaceChildren(...ending());
  }
  guide.hidden = !isNew && !isBegun && !isOver;
  $("operations-frame").hidden = isNew;
  if (guide.hidden || isOver) return;
  const decision = [`devices/${device?.id ?? "DEVICE"}/decisions`, { operationId: waiting?.id ?? "OPERATION", decision: "approve" }];
  const isOpen = guide.querySelector("details")?.open ?? innerWidth > 719;
  const hadFocus = guide.contains(document.activeElement) && document.activeElement.matches("button");
  const step = (number, label, done, isNext, perform) => make("li", { class: done && "done" }, make("button", {
    type: "button", class: isNext && "primary", disabled: !isNext || isBusy, "data-step": number,
    onclick: async () => {
      isBegun = isBusy = true;
      guide.querySelector("details").open = false;  // for the list below it
      showGuide();
      await tried(error, perform);
      isBusy = false;
      showGuide();
      if (document.activeElement === document.body) guide.querySelector("button.primary")?.focus();
    },
  }, make("span.number", { "aria-hidden": "true" }, done ? "✓" : number), label));
  guide.replaceChildren(
    make("h2", "See an approval in two clicks"),
    make("p.muted", "Alice gets a phone that lives in this server, and a payment to decide."),
    make("ol", step(1, "Send alice a payment", Boolean(waiting) || isDone, !waiting && !isDone, () => sendPayment(device)),
      step(2, "Approve it on her phone", isDone, Boolean(waiting), () => ask(...decision))),
    error,
    make("details", { open: isOpen }, make("summary", "The same from a shell"),
      [["Make a phone", "devices", newDevice], ["Send a payment", "cloud/operations", newPayment], ["Approve it", ...decision]]
        .map(([label, path, body]) => command(postCommand(`_emulator/${path}`, body), label))));
  if (hadFocus) guide.querySelector("button.primary")?.focus();
}

/** What stands in the place of each list: a title, a text, and how to make the first. */
const views = {
  activations: ["No devices yet", "A virtual phone lives in this server and needs no client. Or register a user, and scan the code with a client of yours.",
    "activation", "devices", { userId: "alice", name: "Alice’s phone", rule: { decision: "never" } }],
  messages: ["The inboxes are empty", "A message waits in its user’s inbox until a client reads it.",
    "message", "cloud/inbox/messages", { userId: "alice", subject: "Statement", summary: "It is ready", body: "Your statement is ready.", type: "text" }],
  pushes: ["No push messages yet", "What a real server would push to a device is kept here. Each device that registered for them gets one for a new operation.",
    "operation", "cloud/operations", { template: "login", userId: "alice" }],
  deliveries: ["Nothing was sent yet", "Each change of an operation or an activation is sent to the callbacks above.",
    "callback", "cloud/callbacks", { name: "bank", type: "OPERATION", callbackUrl: `${location.protocol}//localhost:8080/hook`, attributes: ["status"] }],
  journal: ["No requests yet", "Every request is shown here, with the reason when it is refused."],
  templates: ["No templates", "The server was started without any."],
};

for (const [view, [title, text, kind, path, body]] of Object.entries(views)) {
  const label = `New ${kind}`;
  $(`${view}-list`).parentElement.querySelector(".empty").append(make("h2", title), make("p", text),
    ...(kind ? [button(label, () => openDialog($(`new-${kind}`)), { class: "primary" }), command(postCommand(`_emulator/${path}`, body), label)] : []));
}
