import { make, status, worded } from "./dom.js";
import { ago, until } from "./time.js";
import { Collection } from "./collection.js";
import { headline, sentence } from "./what.js";

// A device says UNKNOWN where its user gave no reason.
const reason = ({ statusReason, rejectReason }) => [statusReason, rejectReason].filter((one) => one && one !== "UNKNOWN").map(worded)[0];

export const operations = new Collection("operations", (item) => make("div", { class: `operation ${item.status === "PENDING" ? "" : "decided"}`, title: item.data },
  status(item.status),
  make("span.main", headline(item)),
  make(item.userId ? "span.sub" : "span.sub.muted", item.userId ?? "anybody"),
  make("span.kind", item.failureCount ? make("span.bad", `${item.failureCount} of ${item.maxFailureCount} refused`) : reason(item) ?? ""),
  make("span.application.muted", item.appId),
  item.status === "PENDING" ? until(item.timestampExpires, { class: "number left" }) : ago(item.timestampCreated, { class: "number time" })),
(item) => `${sentence(item)}: ${item.status}`);

operations.prepared = (item) => ({ ...item, id: item.operationId });
operations.applicationOf = (item) => item.appId;
operations.searched = (item) => [...Object.values(item).filter((one) => typeof one !== "object"), sentence(item), JSON.stringify(item.formData?.attributes ?? "")];

const followers = [];

/** Calls `follow(ids)` when operations have changed or something was asked of them. */
export function onOperations(follow) { followers.push(follow); }

export const followOperations = (ids) => followers.forEach((follow) => follow(ids));
operations.changed = followOperations;
