import { $, breakable, dateOf, facts, make, pill, timeOf } from "./dom.js";
import { ask } from "./server.js";
import { VirtualList } from "./virtual-list.js";
import { Collection } from "./collection.js";
import { action, defineDetails, detailsLink, plain, pretty, refreshDetails, section, showDetails } from "./details.js";

const words = { waiting: "waiting", underWay: "under way", delivered: "delivered", failed: "failed" };
const outcome = (item) => item.failure ?? (item.status ? `answered ${item.status}` : "");

/** What the bank was told, and what it is to be told. */
export const deliveries = new Collection("deliveries", new VirtualList($("deliveries-list"), {
  key: (item) => item.id,
  open: (item) => showDetails("deliveries", item.id),
  render: (item) => make("div", { class: "delivery" },
    pill(item.state, words[item.state]),
    make("span", { class: "main mono" }, item.url),
    make("span", { class: `sub ${item.failure ? "bad" : ""}` }, outcome(item)),
    make("span", { class: "number" }, String(item.attempts), make("span", { class: "narrow-only" }, item.attempts === 1 ? " attempt" : " attempts")),
    make("span", { class: "number time" }, timeOf(item.created))),
}), { describe: (item) => `Delivery to ${item.url}: ${words[item.state]}` });

// What the list filters by is called a status everywhere; what the bank answered is kept as it is.
deliveries.prepared = (item) => {
  let content = {};
  try { content = JSON.parse(item.body); } catch { /* a body of another kind names nothing */ }
  return { ...item, id: String(item.id), operationID: content.operationId ?? content.mtokenOperationId, activationID: content.activationId };
};
deliveries.statusOf = (item) => item.state;

const attempts = new Map();  // by delivery: the journal's entries

async function loadAttempts(id) {
  attempts.set(id, (await ask(`journal?since=0&delivery=${encodeURIComponent(id)}`)).entries);
}

// The journal hears of an attempt before the list does.
deliveries.changed = (id) => {
  if (attempts.has(id)) loadAttempts(id).then(() => refreshDetails(`deliveries/${id}`)).catch(() => { /* the stream's end tells */ });
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

const attemptList = (entries) => (entries.length ? make("ol", { class: "moments" }, ...entries.map((entry) => make("li", {},
  make("time", {}, timeOf(entry.time)),
  make("div", {}, detailsLink("journal", entry.id, entry.isAccepted ? `answered ${entry.status}` : entry.refusal),
    entry.fault ? make("span", { class: "warn" }, ` fault: ${entry.fault}`) : null)))) : undefined);
