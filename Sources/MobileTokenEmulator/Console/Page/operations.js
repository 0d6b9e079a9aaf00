import { $, dateOf, facts, make, pill, timeOf } from "./dom.js";
import { ask } from "./server.js";
import { VirtualList } from "./virtual-list.js";
import { Collection } from "./collection.js";
import { dangerousAction, showDetails, shownKey } from "./details.js";
import { OfflineApproval } from "./offline.js";
import { serverNow } from "./clock.js";

/** What is left of an operation's time; empty once it is decided. */
function timeLeft(operation) {
  if (operation.status !== "PENDING") return "";
  const seconds = Math.max(0, Math.round((Date.parse(operation.expires) - serverNow()) / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60)];
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  return hours ? `${hours} h ${minutes % 60} min` : `${minutes}:${String(seconds % 60).padStart(2, "0")}`;
}

function showTimeLeft(row, operation) {
  const cell = row.lastElementChild;
  const text = timeLeft(operation);
  if (cell.textContent !== text) cell.textContent = text;
  cell.classList.toggle("warn", text !== "" && Date.parse(operation.expires) - serverNow() < 30000);
}

export const operations = new Collection("operations", new VirtualList($("operations-list"), {
  key: (item) => item.id,
  open: (item) => showOperation(item.id),
  tick: showTimeLeft,
  render: (item) => {
    const row = make("div", { class: `operation ${item.status === "PENDING" ? "" : "decided"}` },
      pill(item.status),
      make("span", { class: "main" }, item.title),
      make("span", { class: `sub ${item.userID ? "" : "muted"}` }, item.userID ?? "anybody"),
      make("span", { class: "mono muted wide-cell" }, item.statusReason ?? item.data),
      make("span", { class: "number time" }, timeOf(item.created)),
      make("span", { class: "number left" }));
    showTimeLeft(row, item);
    return row;
  },
}), { describe: (item) => `${item.title}: ${item.status}` });

/** Opens an operation, with `offline` an offline QR code too. */
export function showOperation(id, { offline = false } = {}) {
  const key = `operations/${encodeURIComponent(id)}`;
  const approval = new OfflineApproval(id, () => operations.items.get(id));
  showDetails(key, () => {
    const item = operations.items.get(id);
    const body = [facts([
      ["User", item.userID ?? "anybody, until somebody claims it"], ["Type", item.name], ["Data", item.data, "code"], ["Reason", item.statusReason],
      ["Failures", `${item.failureCount} of ${item.maximumFailureCount}`], ["Proximity code", item.proximityCode, "copy"],
      ["Created", dateOf(item.created)], ["Expires", dateOf(item.expires)], ["Identifier", item.id, "copy"],
    ])];
    const actions = [];
    const cancel = () => ask(`cloud/${key}?statusReason=CANCELED_IN_CONSOLE`, { method: "DELETE" });
    if (item.status === "PENDING") {
      body.push(approval.card());
      actions.push(dangerousAction("Cancel operation", "Cancel it for good?", cancel));
    }
    return { title: item.title, status: item.status, body, actions };
  });
  if (offline) approval.start();
}

let proximityStep = 0;

/** Called every second. A proximity code is good for half a minute: one that is shown is kept fresh. */
export function showOperationTimes() {
  operations.list.tick();
  const step = Math.floor(serverNow() / 30000);
  if (step === proximityStep) return;
  proximityStep = step;
  const id = shownKey()?.match(/^operations\/(.*)$/)?.[1];
  if (id && operations.items.get(decodeURIComponent(id))?.proximityCode) operations.touch(decodeURIComponent(id));
}
