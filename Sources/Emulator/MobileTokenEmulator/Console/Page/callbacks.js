import { $, breakable, button, confirmButton, facts, make, plainly, pretty, status, toast, tried, worded } from "./dom.js";
import { ago, dateOf } from "./time.js";
import { ask, at, quietly } from "./server.js";
import { Collection } from "./collection.js";
import { action, defineDetails, detailsLink, moment, moments, plain, refreshDetails, section } from "./details.js";
import { onView } from "./address.js";
import { onSubmit } from "./dialogs.js";

// ---- The callbacks themselves ----

export async function loadCallbacks() {
  const { items } = await ask("callbacks");
  $("callbacks-list").replaceChildren(...items.map(row));
  $("callbacks-none").hidden = items.length > 0;
}

function row({ isPaused, ...item }) {
  const path = encodeURIComponent(item.callbackId);
  const label = isPaused ? "Resume" : "Pause";
  const kind = item.type.startsWith("OPERATION") ? "operations" : "activations";
  const change = async (done, ...request) => { await tried($("callbacks-error"), () => ask(...request), done); await loadCallbacks(); };
  return make("li", { class: isPaused && "paused" },
    make("div", make("b", item.name), " ", status(isPaused ? "paused" : "active"),
      make("p.mono", breakable(item.callbackUrl)),
      make("p.hint", [`tells of ${kind}`, item.attributes.join(", "), item.maxAttempts > 1 && `${item.maxAttempts} attempts`].filter(Boolean).join(" · "))),
    make("div.buttons",
      button(label, () => change(`${label}d`, `callbacks/${path}`, { isPaused: !isPaused }, "PUT"), { "aria-label": `${label} ${item.name}` }),
      confirmButton("Remove", "Remove for good?", () => change("Removed", `cloud/callbacks/${path}`, undefined, "DELETE"))));
}

onSubmit($("new-callback"), async () => {
  await ask("cloud/callbacks", {
    name: $("callback-name").value.trim() || "callback", type: $("callback-type").value, callbackUrl: $("callback-url").value.trim(),
    attributes: $("callback-attributes").value.split(/[\s,]+/).filter(Boolean), maxAttempts: Number($("callback-attempts").value) || 1,
  });
  toast("Callback created");
  await loadCallbacks();
});

onView("callbacks", loadCallbacks);

// ---- What was sent ----

const outcome = (item) => plainly(item.failure) ?? (item.status ? `Answered ${item.status}` : "");

export const deliveries = new Collection("deliveries", (item) => make("div.delivery",
  status(item.state),
  make("span.main.mono", item.url),
  make(item.failure ? "span.sub.bad" : "span.sub", outcome(item)),
  make("span.number", item.attempts, make("span.narrow-only", item.attempts === 1 ? " attempt" : " attempts")),
  ago(item.created, { class: "number time" })),
(item) => `Callback to ${item.url}: ${worded(item.state)}`);

// What the list filters by is called a status everywhere; what the bank answered is kept as it is.
deliveries.prepared = (item) => {
  let content = {};
  try { content = JSON.parse(item.body); } catch { /* a body of another kind names nothing */ }
  return { ...item, id: String(item.id), operationId: content.operationId ?? content.mtokenOperationId, activationId: content.activationId };
};
deliveries.view = "callbacks";
deliveries.statusOf = (item) => item.state;

const attempts = new Map();  // by delivery: the journal's entries

async function loadAttempts(id) { attempts.set(id, (await ask(at`journal?since=0&deliveryId=${id}`)).entries); }

const followers = [];

/** Calls `follow(delivery)` when one has changed. */
export function onDelivery(follow) { followers.push(follow); }

// The journal hears of an attempt before the list does.
deliveries.changed = (ids) => ids.forEach((id) => {
  if (attempts.has(id)) quietly(loadAttempts(id).then(() => refreshDetails(`deliveries/${id}`)));
  followers.forEach((follow) => follow(deliveries.find(id)));
});

defineDetails("deliveries", (id) => ({
  prepare: () => Promise.all([deliveries.need(id), loadAttempts(id)]),
  render: () => {
    const item = deliveries.find(id);
    const made = (attempts.get(id) ?? []).map((entry) => [moment(entry.time),
      [detailsLink("journal", entry.id, entry.isAccepted ? `answered ${entry.status}` : plainly(entry.refusal)), entry.fault && make("span.warn", ` fault: ${entry.fault}`)]]);
    return {
      title: breakable(item.url),
      status: item.state,
      body: [
        outcome(item) && make(item.failure ? "p.headline.bad" : "p.headline", outcome(item)),
        facts([
          ["Attempts", item.attempts], ["Tried next", item.due && dateOf(item.due)],
          ["Operation", item.operationId && detailsLink("operations", item.operationId, item.operationId)],
          ["Activation", item.activationId && detailsLink("activations", item.activationId, item.activationId)],
          ["Callback", item.callbackId, "copy"], ["Address", item.url, "copy"], ["Created", dateOf(item.created)], ["Number", item.id],
        ]),
        section("Attempts", made.length && moments(made)),
        section("What is sent", plain(pretty(item.body))),
      ],
      actions: /delivered|failed/.test(item.state) ? [action("Send again", () => ask(at`deliveries/${id}/replay`, undefined, "POST"))] : [],
    };
  },
}));
