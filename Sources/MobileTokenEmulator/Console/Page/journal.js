import { $, dateOf, facts, make, pill, timeOf } from "./dom.js";
import { ask } from "./server.js";
import { VirtualList } from "./virtual-list.js";
import { showCount } from "./collection.js";
import { showDetails } from "./details.js";
import { activationName } from "./activations.js";

const pageSize = 500;
const capacity = 10000;

/** The requests that the server has answered, newest first. */
export const journal = {
  entries: [],
  last: 0,
  isComplete: true,

  list: new VirtualList($("journal-list"), { key: (entry) => entry.id, open: showEntry, render: renderEntry, reachedEnd: () => journal.loadOlder() }),

  async load() {
    const page = await ask(`journal?before=${Number.MAX_SAFE_INTEGER}&limit=${pageSize}`);
    this.entries = page.entries.reverse();
    this.last = page.last;
    this.isComplete = this.entries.length < pageSize;
    this.show(true);
  },

  /** Fetches what came since; many events ask once. */
  touch() {
    this.timer ??= setTimeout(() => this.refresh().catch(() => { /* the stream's end tells that the server has gone */ }), 60);
  },

  async refresh() {
    this.timer = undefined;
    const page = await ask(`journal?since=${this.last}&limit=1000`);
    this.entries = [...page.entries.reverse(), ...this.entries].slice(0, capacity);
    this.last = page.entries[0]?.id ?? this.last;
    page.entries.forEach((entry) => this.list.highlight(entry.id));
    this.show($("journal-follow").checked);
    if (page.last > this.last) this.touch();
  },

  async loadOlder() {
    const oldest = this.entries.at(-1)?.id;
    if (this.isComplete || this.isLoading || !oldest || this.entries.length >= capacity) return;
    this.isLoading = true;
    try {
      const page = await ask(`journal?before=${oldest}&limit=${pageSize}`);
      this.entries = [...this.entries, ...page.entries.reverse()];
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
    const verdict = $("journal-verdict").value;
    const shown = this.entries.filter((entry) =>
      (verdict === "" || (verdict === "fault" ? entry.fault : entry.isAccepted === (verdict === "accepted")))
      && (!wanted || textOf(entry).includes(wanted)));
    this.list.set(shown, { fromTop });
    $("tab-journal").querySelector(".count").textContent = this.last || "";
    showCount("journal", shown.length, this.entries.length);
  },
};

$("journal-filter").addEventListener("input", () => journal.show(true));
$("journal-verdict").addEventListener("input", () => journal.show(true));

const texts = new WeakMap();

/** What the filter looks at. */
function textOf(entry) {
  let text = texts.get(entry);
  if (text === undefined) {
    const parts = [`${entry.method} ${entry.path}`, entry.status, entry.activationID, entry.refusal, entry.fault, entry.body];
    texts.set(entry, text = parts.filter(Boolean).join("\n").toLowerCase());
  }
  return text;
}

function renderEntry(entry) {
  const verdict = entry.isAccepted ? "accepted" : "refused";
  const about = [movement(entry), entry.activationID && activationName(entry.activationID)].filter(Boolean).join(" · ");
  return make("div", { class: "request" },
    pill(verdict, String(entry.status)),
    make("span", { class: "main mono" }, make("b", {}, entry.method), ` ${entry.path}`),
    make("span", { class: "time number" }, timeOf(entry.time)),
    make("span", { class: "sub" },
      make("span", { class: entry.isAccepted ? "muted" : "bad" }, entry.refusal ?? verdict),
      entry.fault ? make("span", { class: "warn" }, ` · fault: ${entry.fault}`) : null,
      about ? make("span", { class: "muted" }, ` · ${about}`) : null));
}

function movement(entry) {
  if (entry.counterBefore === undefined || entry.counterAfter === undefined) return undefined;
  return entry.counterBefore === entry.counterAfter ? `counter ${entry.counterAfter}` : `counter ${entry.counterBefore} → ${entry.counterAfter}`;
}

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

function showEntry(entry) {
  showDetails(`journal/${entry.id}`, () => ({
    title: `${entry.method} ${entry.path}`,
    status: entry.isAccepted ? "accepted" : "refused",
    body: [
      facts([
        ["Reason", entry.refusal], ["Answer", entry.status], ["Fault", entry.fault ?? (entry.refusal === "fault" ? "unnamed" : "")], ["Counter", movement(entry)],
        ["Activation", entry.activationID, "copy"], ["User", entry.activationID && activationName(entry.activationID)],
        ["Query", entry.query, "code"], ["Time", dateOf(entry.time)], ["Number", entry.id],
      ]),
      ...section("Request", pretty(entry.body)),
      ...section("Response", pretty(entry.responseBody)),
      ...section("Request headers", entry.headers.map((header) => `${header.name}: ${header.value}`).join("\n")),
    ],
  }));
}

const section = (title, text) => (text ? [make("h3", {}, title), make("pre", {}, text)] : []);
