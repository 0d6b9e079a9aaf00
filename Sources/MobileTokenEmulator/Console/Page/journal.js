import { $, breakable, copyButton, dateOf, facts, make, pill, timeOf } from "./dom.js";
import { ask } from "./server.js";
import { VirtualList } from "./virtual-list.js";
import { showCount } from "./collection.js";
import { defineDetails, detailsLink, plain, pretty, section, showDetails } from "./details.js";
import { onAddress } from "./address.js";
import { activationName } from "./activations.js";
import { followOperations } from "./operations.js";
import { judgedCode } from "./judged-code.js";
import { curlCommand, isWhole } from "./curl.js";

const pageSize = 500;
const capacity = 10000;

/** The requests that the server has answered, newest first. */
export const journal = {
  entries: [],
  last: 0,
  isComplete: true,

  list: new VirtualList($("journal-list"), { key: (entry) => entry.id, open: (entry) => showDetails("journal", entry.id), render: renderEntry, reachedEnd: () => journal.loadOlder() }),

  async load() {
    const page = await ask(`journal?limit=${pageSize}`);
    this.entries = page.entries;
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
    followOperations(page.entries.flatMap((entry) => entry.operationIDs ?? []));
    this.show($("journal-follow").checked);
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
    const verdict = $("journal-verdict").value;
    const shown = this.entries.filter((entry) =>
      (verdict === "" || (verdict === "fault" ? entry.fault : entry.isAccepted === (verdict === "accepted")))
      && (!wanted || textOf(entry).includes(wanted)));
    this.list.set(shown, { fromTop });
    $("tab-journal").querySelector(".count").textContent = this.last || "";
    showCount("journal", shown.length, this.entries.length);
  },
};

let filter = "\n";
onAddress(() => {
  const now = `${$("journal-filter").value}\n${$("journal-verdict").value}`;
  if (now === filter) return;
  filter = now;
  journal.show(true);
});

const texts = new WeakMap();

/** What the filter looks at. */
function textOf(entry) {
  let text = texts.get(entry);
  if (text === undefined) {
    const parts = [`${entry.method} ${entry.path}`, entry.status, entry.activationID, entry.refusal, entry.fault, entry.body, ...(entry.operationIDs ?? []), ...(entry.warnings ?? []).map((warning) => warning.message)];
    texts.set(entry, text = parts.filter(Boolean).join("\n").toLowerCase());
  }
  return text;
}

function renderEntry(entry) {
  const verdict = entry.isAccepted ? "accepted" : "refused";
  const about = [movement(entry), entry.activationID && activationName(entry.activationID)].filter(Boolean).join(" · ");
  return make("div", { class: "request" },
    pill(verdict, entry.status ? String(entry.status) : "–"),
    make("span", { class: "main mono" }, make("b", {}, entry.method), " ", ...shortened(entry.path)),
    make("span", { class: "time number" }, timeOf(entry.time)),
    make("span", { class: "sub" },
      make("span", { class: entry.isAccepted ? "muted" : "bad" }, entry.refusal ?? verdict),
      ...(entry.warnings ?? []).map((warning) => make("span", { class: "warn" }, ` · ${warning.message}`)),
      entry.fault ? make("span", { class: "warn" }, ` · fault: ${entry.fault}`) : null,
      about ? make("span", { class: "muted" }, ` · ${about}`) : null));
}

/** A path whose beginning gives way where there is no room: its end tells what was asked for. */
function shortened(path) {
  const middle = path.lastIndexOf("/", path.lastIndexOf("/") - 1);
  return [make("span", { class: "beginning" }, path.slice(0, Math.max(0, middle))), make("span", { class: "end" }, path.slice(Math.max(0, middle)))];
}

function movement(entry) {
  if (entry.counterBefore === undefined || entry.counterAfter === undefined) return undefined;
  return entry.counterBefore === entry.counterAfter ? `counter ${entry.counterAfter}` : `counter ${entry.counterBefore} → ${entry.counterAfter}`;
}

let other = null;  // one that is not in the list

const find = (id) => journal.entries.find((entry) => String(entry.id) === id) ?? (String(other?.id) === id ? other : undefined);

async function fetchEntry(id) { other = await ask(`journal/${encodeURIComponent(id)}`); }

defineDetails("journal", (id) => ({
  prepare: () => (find(id) ? undefined : fetchEntry(id)),
  render: () => {
    const entry = find(id) ?? other;
    return {
      title: [`${entry.method} `, ...breakable(entry.path)],
      status: entry.isAccepted ? "accepted" : "refused",
      body: [
        facts([
          ["Reason", entry.refusal], ["Answer", entry.status || "none"], ["Fault", entry.fault ?? (entry.refusal === "fault" ? "unnamed" : "")], ["Counter", movement(entry)],
          ["Ignored", (entry.warnings ?? []).map((warning) => warning.message.replace(/^ignored: /, "")).join("; ")],
          ["Activation", entry.activationID && detailsLink("activations", entry.activationID, activationName(entry.activationID))],
          ["Operations", operationLinks(entry.operationIDs ?? [])],
          ["Delivery", entry.deliveryID && detailsLink("deliveries", entry.deliveryID, `Number ${entry.deliveryID}`)],
          ["Query", entry.query, "code"], ["Time", dateOf(entry.time)], ["Number", entry.id],
        ]),
        ...(entry.code ? judgedCode(entry.code) : []),
        ...layers("Request, decrypted", entry.decryptedBody),
        ...layers("Response, decrypted", entry.decryptedResponseBody),
        ...section("Request", plain(pretty(entry.body))),
        ...section("Response", plain(pretty(entry.responseBody))),
        ...section("Request headers", plain(entry.headers.map((header) => `${header.name}: ${header.value}`).join("\n"))),
      ],
      actions: isWhole(entry) ? [copyButton(curlCommand(entry), "Copy as curl")] : [],
    };
  },
}));

/** An activation is made of two layers, one in the other. */
const layers = (title, bodies = []) => bodies.flatMap((body, index) =>
  section(index ? `${title}, inner layer` : title, plain(pretty(body))));

const operationLinks = (ids) => (ids.length ? make("span", {}, ...[...new Set(ids)].slice(0, 10).flatMap((id, index) =>
  [index ? ", " : "", detailsLink("operations", id, id)])) : undefined);
