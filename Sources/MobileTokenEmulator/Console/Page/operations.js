import { make, status } from "./dom.js";
import { ago, until } from "./time.js";
import { Collection } from "./collection.js";
import { headline, sentence } from "./what.js";

export const operations = new Collection("operations", (item) => make("div", { class: `operation ${item.status === "PENDING" ? "" : "decided"}`, title: item.data },
  status(item.status),
  make("span.main", headline(item)),
  make(item.userID ? "span.sub" : "span.sub.muted", item.userID ?? "anybody"),
  make("span.kind", item.failureCount ? make("span.bad", `${item.failureCount} of ${item.maximumFailureCount} refused`) : item.statusReason ?? item.rejectReason ?? item.title),
  ago(item.created, { class: "number time" }),
  make("span.number.left", item.status === "PENDING" && until(item.expires))),
(item) => `${sentence(item)}: ${item.status}`);

operations.searched = (item) => [...Object.values(item).filter((one) => typeof one !== "object"), sentence(item), JSON.stringify(item.formData?.attributes ?? "")];

const followers = [];

/** Calls `follow(id)` when an operation has changed or something was asked of it. */
export function onOperation(follow) { followers.push(follow); }

export const followOperations = (ids) => ids.forEach((id) => followers.forEach((follow) => follow(id)));
operations.changed = (id) => followOperations([id]);
