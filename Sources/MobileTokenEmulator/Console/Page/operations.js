import { $, make, status } from "./dom.js";
import { ago, until } from "./time.js";
import { VirtualList } from "./virtual-list.js";
import { Collection } from "./collection.js";
import { showDetails } from "./details.js";
import { headline, sentence } from "./what.js";

const reasonOf = (item) => item.statusReason ?? item.rejectReason;

export const operations = new Collection("operations", new VirtualList($("operations-list"), {
  key: (item) => item.id,
  open: (item) => showDetails("operations", item.id),
  render: (item) => make("div", { class: `operation ${item.status === "PENDING" ? "" : "decided"}`, title: item.data },
    status(item.status),
    make("span", { class: "main" }, headline(item)),
    make("span", { class: `sub ${item.userID ? "" : "muted"}` }, item.userID ?? "anybody"),
    make("span", { class: "kind" }, item.failureCount ? make("span", { class: "bad" }, `${item.failureCount} of ${item.maximumFailureCount} refused`) : reasonOf(item) ?? item.title),
    ago(item.created, { class: "number time" }),
    make("span", { class: "number left" }, item.status === "PENDING" ? until(item.expires) : "")),
}), { describe: (item) => `${sentence(item)}: ${item.status}` });

/** Everything that a person may look for, not the numbers alone. */
operations.searched = (item) => [...Object.values(item).filter((one) => typeof one !== "object"), sentence(item), JSON.stringify(item.formData?.attributes ?? "")];

const followers = [];

/** Calls `follow(id)` when an operation has changed or something was asked of it. */
export function onOperation(follow) { followers.push(follow); }

/** Something was asked of these operations. */
export const followOperations = (ids) => ids.forEach((id) => followers.forEach((follow) => follow(id)));
operations.changed = (id) => followOperations([id]);
