// What was sent to the bank, and what became of it.

import { $, breakable, facts, make, plainly, pretty, status, tried, worded } from "./dom.js";
import { ago, dateOf } from "./time.js";
import { ask, at, quietly } from "./server.js";
import { activations } from "./activations.js";
import { Collection } from "./collection.js";
import { action, defineDetails, detailsLink, moment, moments, plain, refreshDetails, section } from "./details.js";
import { onOperations, operations } from "./operations.js";
import { sentence } from "./what.js";

const outcome = (item) => plainly(item.failure) ?? (item.status ? `Answered ${item.status}` : "");
const tries = (item) => item.attempts > 1 && `${item.attempts} tries`;
const none = "00000000-0000-0000-0000-000000000000";

/** Whom a delivery tells. */
export const receiverOf = (item) => item?.callbackName ?? item?.url ?? "";

/** What a delivery tells of: `CZK 1,949.00 → CZ55 …`. */
function subjectOf({ id, operationId, activationId }) {
  if ([operationId, activationId].includes(none)) return "nothing: a test";
  const operation = operationId && operations.find(operationId);
  if (operationId && !operation) unknown.set(operationId, [...(unknown.get(operationId) ?? []), id]);
  return operation ? sentence(operation) : operationId ?? activationId ?? "";
}

const unknown = new Map();  // by operation: deliveries whose news came before the operation itself

onOperations((ids) => {
  const found = ids.filter((id) => unknown.has(id) && operations.find(id));
  for (const id of found.flatMap((one) => unknown.get(one))) {
    if (deliveries.items.has(id)) deliveries.items.set(id, { ...deliveries.items.get(id) });  // a copy: only another object is drawn anew
  }
  for (const id of found) unknown.delete(id);
  if (found.length) deliveries.show();
});

const userOf = (item) => item.userId ?? operations.find(item.operationId)?.userId;
const again = (item) => ask(at`deliveries/${item.id}/replay`, undefined, "POST");

/** For the mouse: a row must not have a button in it. Its details have one. */
const againIn = (item) => item.state === "failed" && make("span.act", {
  "aria-hidden": "true",
  onclick: (event) => { event.stopPropagation(); tried($("callbacks-error"), () => again(item), "Sent again"); },
}, "Send again");

export const deliveries = new Collection("deliveries", (item) => make("div.delivery",
  status(item.state),
  make("span.main", make("b", worded(item.told)), " · ", make("bdi", subjectOf(item))),
  make("span.sub", [userOf(item), receiverOf(item)].filter(Boolean).join(" → ")),
  make("span.tried.number", make("span", { class: item.failure && "bad" }, [outcome(item), tries(item)].filter(Boolean).join(" · ")), againIn(item)),
  ago(item.created, { class: "number time" })),
(item) => `Callback to ${receiverOf(item)}: ${worded(item.state)}`);

deliveries.prepared = (item) => {
  let content = {};
  try { content = JSON.parse(item.body); } catch { /* it names nothing */ }
  return {
    ...item, id: String(item.id), operationId: content.operationId ?? content.mtokenOperationId, activationId: content.activationId,
    userId: content.userId ?? undefined, told: content.status ?? content.activationStatus ?? content.type ?? "news",
  };
};
deliveries.searched = (item) => [...Object.values(item), subjectOf(item), userOf(item)];
deliveries.applicationOf = (item) => operations.find(item.operationId)?.appId ?? activations.find(item.activationId)?.applicationId;
deliveries.view = "callbacks";
deliveries.statusOf = (item) => item.state;

const attempts = new Map();  // by delivery: the journal's entries

async function loadAttempts(id) { attempts.set(id, (await ask(at`journal?since=0&deliveryId=${id}`)).entries); }

const followers = [];

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
          ["Callback", item.callbackName], ["Identifier", item.callbackId, "copy"], ["Address", item.url, "copy"], ["Created", dateOf(item.created)], ["Number", item.id],
        ]),
        section("Attempts", made.length && moments(made)),
        section("What is sent", plain(pretty(item.body))),
      ],
      actions: /delivered|failed/.test(item.state) ? [action("Send again", () => again(item))] : [],
    };
  },
}));
