import { make, status, worded } from "./dom.js";
import { ago, until } from "./time.js";
import { Collection } from "./collection.js";
import { headline, sentence } from "./what.js";

// A device says UNKNOWN where its user gave no reason.
const reason = ({ statusReason, rejectReason }) => [statusReason, rejectReason].filter((one) => one && one !== "UNKNOWN").map(worded)[0];

export const operations = new Collection("operations", (item) => make("div", { class: `operation ${item.status === "PENDING" ? "" : "decided"}`, title: item.data },
  status(item.status),
  make("span.main", headline(item)),
  make(item.userID ? "span.sub" : "span.sub.muted", item.userID ?? "anybody"),
  make("span.kind", item.failureCount ? make("span.bad", `${item.failureCount} of ${item.maximumFailureCount} refused`) : reason(item) ?? item.title),
  item.status === "PENDING" ? until(item.expires, { class: "number left" }) : ago(item.created, { class: "number time" })),
(item) => `${sentence(item)}: ${item.status}`);

operations.searched = (item) => [...Object.values(item).filter((one) => typeof one !== "object"), sentence(item), JSON.stringify(item.formData?.attributes ?? "")];

const followers = [];

/** Calls `follow(id)` when an operation has changed or something was asked of it. */
export function onOperation(follow) { followers.push(follow); }

export const followOperations = (ids) => ids.forEach((id) => followers.forEach((follow) => follow(id)));
operations.changed = (id) => followOperations([id]);
