import { $, make, plainly, showTotal } from "./dom.js";
import { exactTime, timeOf } from "./time.js";
import { ask, quietly } from "./server.js";
import { VirtualList } from "./virtual-list.js";
import { showCount } from "./collection.js";
import { showDetails } from "./details.js";
import { address, go, onAddress } from "./address.js";
import { activationName } from "./activations.js";
import { followOperations } from "./operations.js";
import { groupPolls } from "./polls.js";
import { showPulse } from "./pulse.js";

const pageSize = 200;
const capacity = 10000;

/** Requests and callbacks, newest first. */
export const journal = {
  entries: [],
  last: 0,
  isComplete: true,

  list: new VirtualList($("journal-list"), { key: (row) => row.key, open: (row) => showDetails("journal", row.entry.id), render: renderRow, reachedEnd: () => journal.loadOlder() }),

  async load() {
    const page = await ask(`journal?limit=${pageSize}`);
    this.entries = page.entries;
    this.last = page.last;
    this.isComplete = this.entries.length < pageSize;
    this.show(true);
  },

  /** Fetches what came since; many events ask once, and no request overtakes another. */
  touch() {
    this.hasNews = true;
    this.timer ??= setTimeout(() => quietly(this.refresh()), 60);
  },

  async refresh() {
    this.hasNews = false;
    const page = await ask(`journal?since=${this.last}&limit=1000`).finally(() => {
      this.timer = undefined;
      if (this.hasNews) this.touch();
    });
    // The list may have been loaded anew meanwhile.
    const entries = page.entries.filter((entry) => entry.id > this.last).reverse();
    this.entries = [...entries, ...this.entries].slice(0, capacity);
    this.last = entries[0]?.id ?? this.last;
    entries.forEach((entry) => this.list.highlight(entry.id));
    followOperations([...new Set(entries.flatMap((entry) => entry.operationIds ?? []))]);
    const isMade = (path) => entries.some((entry) => entry.method !== "GET" && entry.path.includes(path));
    if (isMade("/v2/callbacks")) this.changedCallbacks();
    if (isMade("/admin/applications")) this.changedApplications();
    this.show();
    if (page.last > this.last) this.touch();
  },

  async loadOlder() {
    const oldest = this.entries.at(-1)?.id;
    if (this.isComplete || this.isLoading || !oldest || this.entries.length >= capacity) return;
    this.isLoading = true;
    try {
      const page = await ask(`journal?before=${oldest}&limit=${pageSize}`);
      this.entries = [...this.entries, ...page.entries];
      this.isComplete = page.entries.length < pageSize;
    } catch {
      this.isComplete = true;
    } finally {
      this.isLoading = false;
    }
    this.show();
  },

  show(fromTop = false) {
    const wanted = $("journal-filter").value.trim().toLowerCase();
    const chosen = $("journal-verdict").value;
    const shown = this.entries.filter((entry) => kinds[chosen](entry) && (!wanted || textOf(entry).includes(wanted)));
    this.list.set(groupPolls(shown, $("journal-group").checked), { fromTop });
    showTotal("journal", this.last);
    showCount("journal", shown.length, this.entries.length);
    showPulse(this.entries);
    this.onShow?.();
  },
};

const kinds = {
  "": () => true, accepted: (entry) => entry.isAccepted, refused: (entry) => !entry.isAccepted,
  fault: (entry) => entry.fault, callback: (entry) => entry.deliveryId !== undefined,
};

let filter = "\n";
onAddress(() => {
  const now = `${$("journal-filter").value}\n${$("journal-verdict").value}`;
  showPanel();
  if (now === filter) return;
  filter = now;
  journal.show(true);
});
$("journal-group").oninput = () => journal.show(true);

const texts = new WeakMap();
const warningsOf = (entry) => (entry.warnings ?? []).map((one) => one.message);

function textOf(entry) {
  if (!texts.has(entry)) {
    const { method, path, status, activationId, userId, refusal, fault, body, callbackName, deviceName, operationIds = [] } = entry;
    const parts = [`${method} ${path}`, status, activationId, userId, reasonOf(entry), refusal, fault, body, callbackName, deviceName, ...operationIds, ...warningsOf(entry)];
    texts.set(entry, parts.filter(Boolean).join("\n").toLowerCase());
  }
  return texts.get(entry);
}

export const reasonOf = (entry) => plainly(entry.finding);

/** A device that the server makes registers and commits itself: a call that is the bank's otherwise. */
export const isInstead = (entry) => entry.deviceName !== undefined && entry.path.startsWith("/v2/");

export const callerOf = (entry) => (entry.activationId ? activationName(entry.activationId) : entry.userId ?? "");

function renderRow({ entry, count, first }) {
  const isCallback = entry.deliveryId !== undefined;
  const verdictName = entry.isAccepted ? "accepted" : "refused";
  const notes = [...warningsOf(entry), entry.fault && `fault: ${entry.fault}`, isInstead(entry) && "in the bank’s stead", movement(entry)].filter(Boolean).join(" · ");
  return make(isCallback ? "div.request.callback" : "div.request", { "data-verdict": verdictName },
    make("span.code", { title: verdictName }, entry.status || "–"),
    make("span.way-of", { title: isCallback ? "A callback to the bank" : "A request to the server" }, isCallback ? "↗" : "→"),
    make("span.main.mono", make("b", entry.callbackName ?? entry.method), ...shortened(entry.path), count > 1 && make("b.times", ` × ${count}`)),
    make("span.said", !entry.isAccepted && [make("span.bad", reasonOf(entry) ?? verdictName), notes && " · "], make(entry.fault || entry.warnings?.length ? "span.warn" : "span.muted", notes)),
    make("span.sub", callerOf(entry)),
    count > 1 ? make("span.time.number", { title: `${first} – ${entry.time}` }, `${timeOf(first)}–${timeOf(entry.time)}`) : make("time.time.number", { title: entry.time }, exactTime(entry.time)));
}

/** Where there is no room, the beginning gives way: the end tells what was asked for. */
function shortened(path) {
  const middle = path.lastIndexOf("/", path.lastIndexOf("/") - 1);
  return [make("span.beginning", path.slice(0, Math.max(0, middle))), make("span.end", path.slice(Math.max(0, middle)))];
}

export function movement(entry) {
  if (entry.counterBefore === undefined || entry.counterAfter === undefined) return undefined;
  return entry.counterBefore === entry.counterAfter ? `counter ${entry.counterAfter}` : `counter ${entry.counterBefore} → ${entry.counterAfter}`;
}

// The panel: closed it is one line, open a third of the page, and as a view of its own all of it.
const isRoomy = matchMedia("(min-width: 720px) and (min-height: 640px)");
const watching = new Set(["operations", "messages", "pushes", "callbacks", "activations"]);
let choice;  // what the user has chosen; before, it is open where one watches
const isOpen = () => choice ?? (isRoomy.matches && watching.has(address.view));

function showPanel() {
  const isView = address.view === "journal";
  const state = isView ? "view" : isOpen() ? "open" : "closed";
  if ($("journal").dataset.state !== state) $("journal").dataset.state = state;
  $("journal-toggle").setAttribute("aria-expanded", state !== "closed");
  $("journal-toggle").parentElement.setAttribute("aria-level", isView ? 1 : 2);
}
$("journal-toggle").onclick = () => {
  if (address.view === "journal") return go({ view: "operations" });
  if (!isRoomy.matches) return go({ view: "journal" });
  choice = !isOpen();
  showPanel();
};
isRoomy.addEventListener("change", () => { choice = undefined; showPanel(); });
showPanel();
