import { $, dateOf, facts, make, pill, timeOf } from "./dom.js";
import { ask, askExact } from "./server.js";
import { VirtualList } from "./virtual-list.js";
import { Collection } from "./collection.js";
import { dangerousAction, defineDetails, detailsLink, refreshDetails, section, showDetails, shownKey } from "./details.js";
import { addressOfFiltered, split } from "./address.js";
import { timeline } from "./life.js";
import { previewCard } from "./preview.js";
import { deliveries } from "./deliveries.js";
import { pushes } from "./pushes.js";
import { OfflineApproval } from "./offline.js";
import { decideByHand } from "./devices.js";
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
  open: (item) => showDetails("operations", item.id),
  tick: showTimeLeft,
  render: (item) => {
    const row = make("div", { class: `operation ${item.status === "PENDING" ? "" : "decided"}` },
      pill(item.status),
      make("span", { class: "main" }, item.title),
      make("span", { class: `sub ${item.userID ? "" : "muted"}` }, item.userID ?? "anybody"),
      make("span", { class: "mono muted wide-cell" }, item.statusReason ?? item.rejectReason ?? item.data),
      make("span", { class: "number time" }, timeOf(item.created)),
      make("span", { class: "number left" }));
    showTimeLeft(row, item);
    return row;
  },
}), { describe: (item) => `${item.title}: ${item.status}` });

const approvals = new Map();  // by operation: the offline approval that was begun

/** Opens an operation, with `offline` an offline QR code too. */
export function showOperation(id, { offline = false } = {}) {
  showDetails("operations", id);
  if (offline) approvalOf(id).start();
}

function approvalOf(id) {
  if (!approvals.has(id)) approvals.set(id, new OfflineApproval(id, () => operations.find(id)));
  return approvals.get(id);
}

/** What is told of one operation beside what the list knows. */
class OperationStory {
  constructor(id) { Object.assign(this, { id, moments: [], preview: undefined, language: "", asked: 0 }); }

  get path() { return `operations/${encodeURIComponent(this.id)}`; }

  /** Answers may overtake each other: that to the latest question counts. */
  async load() {
    const number = ++this.asked;
    const language = this.language || navigator.language || "";
    const [{ moments }, preview] = await Promise.all([
      ask(`${this.path}/history`),
      // There is none of an operation whose template is gone.
      askExact(`${this.path}/preview?language=${encodeURIComponent(language)}`).catch(() => undefined),
    ]);
    if (number === this.asked) Object.assign(this, { moments, preview });
  }

  async follow() {
    // What fails here tells nothing new: the stream's end says that the server has gone.
    await this.load().then(() => refreshDetails(`operations/${this.id}`), () => {});
  }

  choose(language) {
    this.language = language;
    return this.follow();
  }
}

let story = null;  // that of the operation that is open

/** Something was asked of these operations. */
export function followOperations(ids) {
  if (story && shownKey() === `operations/${story.id}` && ids.includes(story.id)) story.follow();
}
operations.changed = (id) => followOperations([id]);

/** Who may decide it has changed. */
export function refreshOpenOperation() {
  if (story) refreshDetails(`operations/${story.id}`);
}

defineDetails("operations", (id) => ({
  prepare: async () => {
    story = new OperationStory(id);
    await Promise.all([operations.need(id), story.load()]);
  },
  render: () => {
    const item = operations.find(id);
    const told = story?.id === id ? story : new OperationStory(id);
    const body = [
      facts([
        ["User", item.userID ?? "anybody, until somebody claims it"], ["Type", item.name], ["Data", item.data, "code"], ["Reason", item.statusReason ?? item.rejectReason],
        ["Failures", `${item.failureCount} of ${item.maximumFailureCount}`], ["Proximity code", item.proximityCode, "copy"],
        ["Created", dateOf(item.created)], ["Expires", dateOf(item.expires)], ["Identifier", item.id, "copy"],
      ]),
      ...section("What happened", timeline(told.moments), links(item)),
    ];
    const actions = [];
    const cancel = () => ask(`cloud/${told.path}?statusReason=CANCELED_IN_CONSOLE`, { method: "DELETE" });
    if (item.status === "PENDING") {
      body.push(...decideByHand(item), approvalOf(id).card());
      actions.push(dangerousAction("Cancel operation", "Cancel it for good?", cancel));
    }
    if (told.preview) body.push(...section("On a phone", previewCard(told.preview, (language) => told.choose(language))));
    return { title: item.title, status: item.status, body, actions };
  },
}));

/** From an operation to what was asked and told about it. */
function links(item) {
  const about = (collection, name) => [...collection.items.values()].filter((one) => one.operationID === item.id)
    .map((one) => detailsLink(collection.name, one.id, `${name} ${one.id}`));
  const all = [make("a", { href: addressOfFiltered("journal", item.id) }, "All its requests"), ...about(pushes, "Push"), ...about(deliveries, "Delivery")];
  return make("p", { class: "links" }, ...all.flatMap((link, index) => (index ? [" · ", link] : [link])));
}

let proximityStep = 0;

/** Called every second. A proximity code is good for half a minute: one that is shown is kept fresh. */
export function showOperationTimes() {
  operations.list.tick();
  const step = Math.floor(serverNow() / 30000);
  if (step === proximityStep) return;
  proximityStep = step;
  const [kind, id] = split(shownKey() ?? "/");
  if (kind === "operations" && operations.items.get(id)?.proximityCode) operations.touch(id);
}
