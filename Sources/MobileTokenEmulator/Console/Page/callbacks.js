import { $, breakable, confirmButton, facts, make, status, toast } from "./dom.js";
import { ago, dateOf, exactTime } from "./time.js";
import { ask } from "./server.js";
import { VirtualList } from "./virtual-list.js";
import { Collection } from "./collection.js";
import { action, defineDetails, detailsLink, plain, pretty, refreshDetails, section, showDetails } from "./details.js";
import { address, onAddress } from "./address.js";
import { onSubmit } from "./dialogs.js";

// ---- The callbacks themselves ----

/** Shows whom the server tells of what happens. */
export async function loadCallbacks() {
  const { items } = await ask("callbacks");
  $("callbacks-list").replaceChildren(...items.map(row));
  $("callbacks-none").hidden = items.length > 0;
}

function row({ callback: item, isPaused }) {
  const path = encodeURIComponent(item.callbackId);
  const label = isPaused ? "Resume" : "Pause";
  return make("li", { class: isPaused ? "paused" : "" },
    make("div", {}, make("b", {}, item.name), " ", status(isPaused ? "paused" : "active"),
      make("p", { class: "mono" }, breakable(item.callbackUrl)),
      make("p", { class: "hint" }, [`tells of ${item.type.startsWith("OPERATION") ? "operations" : "activations"}`, item.attributes.join(", "), item.maxAttempts > 1 ? `${item.maxAttempts} attempts` : ""].filter(Boolean).join(" · "))),
    make("div", { class: "buttons" },
      make("button", { type: "button", "aria-label": `${label} ${item.name}`, onclick: () => change(`callbacks/${path}`, { method: "PUT", body: { isPaused: !isPaused } }, isPaused ? "Resumed" : "Paused") }, label),
      confirmButton("Remove", "Remove for good?", () => change(`cloud/callbacks/${path}`, { method: "DELETE" }, "Removed"))));
}

async function change(path, options, done) {
  $("callbacks-error").textContent = "";
  try {
    await ask(path, options);
    toast(done);
  } catch (failure) {
    $("callbacks-error").textContent = failure.message;
  }
  await loadCallbacks();
}

onSubmit($("new-callback"), async () => {
  await ask("cloud/callbacks", {
    method: "POST",
    body: {
      name: $("callback-name").value.trim() || "callback", type: $("callback-type").value, callbackUrl: $("callback-url").value.trim(),
      attributes: $("callback-attributes").value.split(/[\s,]+/).filter(Boolean), maxAttempts: Number($("callback-attempts").value) || 1,
    },
  });
  toast("Callback created");
  await loadCallbacks();
});

let view;
onAddress(() => {
  if (address.view === "callbacks" && view !== "callbacks") loadCallbacks().catch(() => { /* the stream's end tells that the server has gone */ });
  view = address.view;
});

// ---- What was sent ----

const words = { waiting: "waiting", underWay: "under way", delivered: "delivered", failed: "failed" };
const outcome = (item) => item.failure ?? (item.status ? `answered ${item.status}` : "");

/** What the bank was told, and what it is to be told. */
export const deliveries = new Collection("deliveries", new VirtualList($("deliveries-list"), {
  key: (item) => item.id,
  open: (item) => showDetails("deliveries", item.id),
  render: (item) => make("div", { class: "delivery" },
    status(item.state, words[item.state]),
    make("span", { class: "main mono" }, item.url),
    make("span", { class: `sub ${item.failure ? "bad" : ""}` }, outcome(item)),
    make("span", { class: "number" }, String(item.attempts), make("span", { class: "narrow-only" }, item.attempts === 1 ? " attempt" : " attempts")),
    ago(item.created, { class: "number time" })),
}), { describe: (item) => `Callback to ${item.url}: ${words[item.state]}` });

// What the list filters by is called a status everywhere; what the bank answered is kept as it is.
deliveries.prepared = (item) => {
  let content = {};
  try { content = JSON.parse(item.body); } catch { /* a body of another kind names nothing */ }
  return { ...item, id: String(item.id), operationID: content.operationId ?? content.mtokenOperationId, activationID: content.activationId };
};
deliveries.view = "callbacks";
deliveries.statusOf = (item) => item.state;

const attempts = new Map();  // by delivery: the journal's entries

async function loadAttempts(id) {
  attempts.set(id, (await ask(`journal?since=0&delivery=${encodeURIComponent(id)}`)).entries);
}

const followers = [];

/** Calls `follow(delivery)` when one has changed. */
export function onDelivery(follow) { followers.push(follow); }

// The journal hears of an attempt before the list does.
deliveries.changed = (id) => {
  if (attempts.has(id)) loadAttempts(id).then(() => refreshDetails(`deliveries/${id}`)).catch(() => { /* the stream's end tells */ });
  followers.forEach((follow) => follow(deliveries.find(id)));
};

defineDetails("deliveries", (id) => ({
  prepare: async () => { await Promise.all([deliveries.need(id), loadAttempts(id)]); },
  render: () => {
    const item = deliveries.find(id);
    const hasEnded = item.state === "delivered" || item.state === "failed";
    return {
      title: breakable(item.url),
      status: [item.state, words[item.state]],
      body: [
        item.failure ? make("p", { class: "headline bad" }, item.failure) : null,
        facts([
          ["Outcome", outcome(item)], ["Attempts", item.attempts], ["Tried next", item.due && dateOf(item.due)],
          ["Operation", item.operationID && detailsLink("operations", item.operationID, item.operationID)],
          ["Activation", item.activationID && detailsLink("activations", item.activationID, item.activationID)],
          ["Callback", item.callbackID, "copy"], ["Address", item.url, "copy"], ["Created", dateOf(item.created)], ["Number", item.id],
        ]),
        ...section("Attempts", attemptList(attempts.get(id) ?? [])),
        ...section("What is sent", plain(pretty(item.body))),
      ],
      actions: hasEnded ? [action("Send again", () => ask(`deliveries/${encodeURIComponent(id)}/replay`, { method: "POST" }))] : [],
    };
  },
}));

const attemptList = (entries) => (entries.length ? make("ol", { class: "moments" }, entries.map((entry) => make("li", {},
  make("time", { title: entry.time }, exactTime(entry.time)),
  make("div", {}, detailsLink("journal", entry.id, entry.isAccepted ? `answered ${entry.status}` : entry.refusal),
    entry.fault ? make("span", { class: "warn" }, ` fault: ${entry.fault}`) : null)))) : undefined);
