// The console shows what the server tells and asks it for what the user wants; it decides nothing itself. All data goes
// into the page as text, never as markup.

const api = new URL("../_emulator/", document.baseURI);
const $ = (id) => document.getElementById(id);

/** Makes an element: `make("td", {class: "x"}, "text", child)`. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

/** Asks the server; throws its message when it refuses. */
async function ask(path, { method = "GET", body } = {}) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(new URL(path, api), { method, headers, body: text });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.responseObject?.message ?? `The server answered ${response.status}`);
  return answer;
}

const time = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const pill = (status) => make("span", { class: `pill ${/^\w+$/.test(status) ? status : ""}` }, status.replace("_", " "));

// ---- Lists --------------------------------------------------------------------------------------------------------

/** A list of any length: only the rows in view exist. The list has the focus, so rows may come and go under it. */
class VirtualList {
  constructor(element, { key, render, open, reachedEnd }) {
    Object.assign(this, { element, key, render, open, reachedEnd });
    this.items = [];
    this.rows = new Map();
    this.changed = new Set();
    this.active = null;
    this.space = make("div", { class: "space", role: "presentation" });
    element.append(this.space);
    element.setAttribute("role", "listbox");
    element.tabIndex = 0;
    element.addEventListener("scroll", () => this.schedule(), { passive: true });
    element.addEventListener("keydown", (event) => this.move(event));
    element.addEventListener("focus", () => { if (this.active === null && this.items.length) this.activate(0); });
    element.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (!row) return;
      this.active = row.dataset.key;
      this.schedule();
      this.open(this.items[row.dataset.index]);
    });
    new ResizeObserver(() => this.schedule()).observe(element);
  }

  set(items, { stayAtTop = false } = {}) {
    const first = this.firstVisible;
    const anchor = this.items[first] && this.key(this.items[first]);
    const offset = this.element.scrollTop - first * this.rowHeight;
    this.items = items;
    this.space.style.height = `${items.length * this.rowHeight}px`;
    // Rows that come in above leave what is being read where it is.
    if (!stayAtTop && this.element.scrollTop > 0 && anchor !== undefined) {
      const index = items.findIndex((item) => this.key(item) === anchor);
      if (index >= 0) this.element.scrollTop = index * this.rowHeight + offset;
    } else if (stayAtTop) {
      this.element.scrollTop = 0;
    }
    this.element.classList.toggle("empty", items.length === 0);
    this.schedule();
  }

  highlight(key) { this.changed.add(String(key)); }

  get rowHeight() { return parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) * parseFloat(getComputedStyle(document.documentElement).fontSize); }
  get firstVisible() { return Math.floor(this.element.scrollTop / this.rowHeight); }
  get activeIndex() { return this.items.findIndex((item) => String(this.key(item)) === this.active); }

  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => { this.scheduled = false; this.draw(); });
  }

  draw() {
    const height = this.rowHeight;
    const count = Math.ceil(this.element.clientHeight / height) + 6;
    const start = Math.max(0, this.firstVisible - 3);
    const kept = new Map();
    this.space.style.height = `${this.items.length * height}px`;
    for (let index = start; index < Math.min(this.items.length, start + count); index++) {
      const item = this.items[index];
      const key = String(this.key(item));
      const old = this.rows.get(key);
      const row = this.render(item);
      row.classList.add("row");
      row.id = `${this.element.id}-${key}`;
      row.dataset.key = key;
      row.dataset.index = index;
      row.setAttribute("role", "option");
      row.setAttribute("aria-setsize", this.items.length);
      row.setAttribute("aria-posinset", index + 1);
      row.setAttribute("aria-selected", key === this.active);
      row.style.transform = `translateY(${index * height}px)`;
      if (this.changed.delete(key)) row.classList.add("changed");
      // A row that looks as before stays, and with it a running animation.
      if (old && old.outerHTML.replace(" changed", "") === row.outerHTML) { kept.set(key, old); continue; }
      if (old) old.replaceWith(row); else this.element.append(row);
      kept.set(key, row);
    }
    for (const [key, row] of this.rows) if (!kept.has(key)) row.remove();
    this.rows = kept;
    this.changed.clear();
    if (this.active !== null && kept.has(this.active)) this.element.setAttribute("aria-activedescendant", kept.get(this.active).id);
    else this.element.removeAttribute("aria-activedescendant");
    if (this.reachedEnd && this.items.length && start + count >= this.items.length) this.reachedEnd();
  }

  activate(index) {
    if (!this.items.length) return;
    const bounded = Math.max(0, Math.min(this.items.length - 1, index));
    this.active = String(this.key(this.items[bounded]));
    const top = bounded * this.rowHeight;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    const bottom = top + this.rowHeight - this.element.clientHeight;
    if (bottom > this.element.scrollTop) this.element.scrollTop = bottom;
    this.schedule();
  }

  move(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.activate(this.activeIndex + steps[event.key]);
    else if ((event.key === "Enter" || event.key === " ") && this.activeIndex >= 0) this.open(this.items[this.activeIndex]);
    else return;
    event.preventDefault();
  }
}

/** Items of one kind, by identifier, newest first; what is shown is filtered. */
class Collection {
  constructor(name, list) {
    Object.assign(this, { name, list, items: new Map(), pending: new Set() });
    for (const control of [$(`${name}-filter`), $(`${name}-status`)]) control.addEventListener("input", () => this.show(true));
  }

  async load() {
    const items = [];
    for (;;) {
      const page = await ask(`${this.name}?limit=1000&offset=${items.length}`);
      items.push(...page.items);
      if (page.items.length === 0 || items.length >= page.total) break;
    }
    this.items = new Map(items.map((item) => [item.id, item]));
    this.show();
  }

  /** Fetches one that has changed; many at once are fetched together. */
  touch(id) {
    this.pending.add(id);
    this.timer ??= setTimeout(() => this.refresh(), 60);
  }

  async refresh() {
    const ids = [...this.pending];
    this.pending.clear();
    this.timer = undefined;
    try {
      if (ids.length > 30) {
        await this.load();
      } else {
        for (const item of await Promise.all(ids.map((id) => ask(`${this.name}/${encodeURIComponent(id)}`)))) {
          // A new one comes first; a changed one keeps its place.
          if (this.items.has(item.id)) this.items.set(item.id, item);
          else this.items = new Map([[item.id, item], ...this.items]);
        }
      }
      ids.forEach((id) => this.list.highlight(id));
      this.show();
      ids.forEach((id) => refreshDetails(this.name, id));
    } catch { /* the stream's end tells that the server has gone */ }
  }

  show(fromTop = false) {
    const wanted = $(`${this.name}-filter`).value.trim().toLowerCase();
    const status = $(`${this.name}-status`).value;
    const shown = [...this.items.values()].filter((item) =>
      (!status || item.status === status) && (!wanted || Object.values(item).some((value) => String(value).toLowerCase().includes(wanted))));
    this.list.set(shown, { stayAtTop: fromTop });
    $(`tab-${this.name}`).querySelector(".count").textContent = this.items.size || "";
    const users = new Set([...activations.items.values(), ...operations.items.values()].map((item) => item.userID).filter(Boolean));
    $("users").replaceChildren(...[...users].sort().slice(0, 200).map((value) => make("option", { value })));
  }
}

// ---- Operations and activations ------------------------------------------------------------------------------------

function remaining(operation) {
  if (operation.status !== "PENDING") return time.format(new Date(operation.created));
  const seconds = Math.max(0, Math.round((new Date(operation.expires) - serverNow()) / 1000));
  return seconds >= 3600 ? `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min` : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left`;
}

const operations = new Collection("operations", new VirtualList($("operations-list"), {
  key: (item) => item.id,
  open: (item) => showDetails("operations", item.id),
  render: (item) => make("div", { class: "operation" },
    pill(item.status), make("span", { class: "main" }, item.title),
    make("span", { class: "sub muted" }, item.userID ?? "anybody"),
    make("span", { class: "extra muted mono" }, item.statusReason ?? item.data),
    make("span", { class: "time muted" }, remaining(item))),
}));

const activations = new Collection("activations", new VirtualList($("activations-list"), {
  key: (item) => item.id,
  open: (item) => showDetails("activations", item.id),
  render: (item) => make("div", { class: "activation" },
    pill(item.status), make("span", { class: "main" }, item.userID),
    make("span", { class: "sub muted" }, item.name ?? item.id),
    make("span", { class: "extra muted" }, `counter ${item.counter}`),
    make("span", { class: `extra ${item.failedAttempts ? "refused" : "muted"}` }, `${item.failedAttempts} of ${item.maximumFailedAttempts} failed`),
    make("span", { class: "time muted" }, time.format(new Date(item.created)))),
}));

// ---- Journal --------------------------------------------------------------------------------------------------------

const journal = {
  entries: [],  // newest first
  last: 0,
  exhausted: false,

  list: new VirtualList($("journal-list"), {
    key: (entry) => entry.id,
    open: (entry) => showEntry(entry),
    reachedEnd: () => journal.loadOlder(),
    render: (entry) => make("div", { class: "request" },
      pill(entry.isAccepted ? "accepted" : "refused"), make("span", { class: "extra mono" }, String(entry.status)),
      make("span", { class: "main mono" }, `${entry.method} ${entry.path}`),
      make("span", { class: "sub muted" }, [entry.fault && `⚡ ${entry.fault}`, entry.refusal, movement(entry)].filter(Boolean).join(" · ")),
      make("span", { class: "time muted" }, time.format(new Date(entry.time)))),
  }),

  async load() {
    const page = await ask(`journal?before=${Number.MAX_SAFE_INTEGER}&limit=500`);
    this.entries = page.entries.reverse();
    this.last = page.last;
    this.exhausted = this.entries.length < 500;
    this.show(true);
  },

  /** What came since; many events ask once. */
  touch() {
    this.timer ??= setTimeout(async () => {
      this.timer = undefined;
      try {
        const page = await ask(`journal?since=${this.last}&limit=1000`);
        this.entries = [...page.entries.reverse(), ...this.entries].slice(0, 10000);
        this.last = this.entries[0]?.id ?? this.last;
        page.entries.forEach((entry) => this.list.highlight(entry.id));
        this.show($("journal-follow").checked);
        if (page.last > this.last) this.touch();
      } catch { /* the stream's end tells that the server has gone */ }
    }, 60);
  },

  async loadOlder() {
    const oldest = this.entries.at(-1)?.id;
    if (this.exhausted || this.loading || !oldest || this.entries.length >= 10000) return;
    this.loading = true;
    try {
      const page = await ask(`journal?before=${oldest}&limit=500`);
      this.entries = [...this.entries, ...page.entries.reverse()];
      this.exhausted = page.entries.length < 500;
      this.show();
    } catch { this.exhausted = true; } finally { this.loading = false; }
  },

  show(fromTop = false) {
    const wanted = $("journal-filter").value.trim().toLowerCase();
    const verdict = $("journal-verdict").value;
    const shown = this.entries.filter((entry) =>
      (verdict === "" || (verdict === "fault" ? entry.fault : entry.isAccepted === (verdict === "accepted"))) &&
      (!wanted || [`${entry.method} ${entry.path}`, entry.activationID, entry.refusal, entry.fault, entry.body, String(entry.status)]
        .some((text) => text?.toLowerCase().includes(wanted))));
    this.list.set(shown, { stayAtTop: fromTop });
    $("tab-journal").querySelector(".count").textContent = this.last || "";
  },
};
$("journal-filter").addEventListener("input", () => journal.show(true));
$("journal-verdict").addEventListener("input", () => journal.show(true));

function movement(entry) {
  if (entry.counterBefore === undefined || entry.counterAfter === undefined) return undefined;
  return entry.counterBefore === entry.counterAfter ? `counter ${entry.counterAfter}` : `counter ${entry.counterBefore} → ${entry.counterAfter}`;
}

// ---- Details --------------------------------------------------------------------------------------------------------

let shownDetails = null;

function facts(pairs) {
  const list = make("dl", { class: "facts" });
  for (const [name, value, isCode] of pairs) {
    if (value === undefined || value === null || value === "") continue;
    list.append(make("dt", {}, name), make("dd", isCode ? { class: "mono" } : {}, String(value), isCode === "copy" ? copyButton(String(value)) : ""));
  }
  return list;
}

function copyButton(text) {
  return make("button", {
    type: "button", class: "quiet",
    onclick: async (event) => {
      const button = event.currentTarget;
      try { await navigator.clipboard.writeText(text); button.textContent = "copied"; } catch { button.textContent = "select it by hand"; }
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    },
  }, "copy");
}

const qr = (text, label) => make("img", { class: "qr", alt: label, src: new URL(`qr?text=${encodeURIComponent(text)}`, api).href });

function action(label, perform, kind = "") {
  return make("button", {
    type: "button", class: kind,
    onclick: async (event) => {
      const button = event.currentTarget;
      const error = $("details").querySelector(".error");
      error.textContent = "";
      button.disabled = true;
      try { await perform(); } catch (failure) { error.textContent = failure.message; } finally { button.disabled = false; }
    },
  }, label);
}

function fillDetails(title, body, actions) {
  $("details-title").replaceChildren(...title);
  $("details-body").replaceChildren(...body);
  $("details-actions").replaceChildren(...actions);
  if (!$("details").open) $("details").showModal();
}

function showDetails(kind, id) {
  $("details").querySelector(".error").textContent = "";
  shownDetails = { kind, id };
  (kind === "operations" ? showOperation : showActivation)(id);
}

/** What is open follows what happens, unless the user is typing in it. */
function refreshDetails(kind, id) {
  if (!$("details").open || shownDetails?.kind !== kind || shownDetails?.id !== id) return;
  if ($("details-body").contains(document.activeElement) && document.activeElement.matches("input, select")) return;
  (kind === "operations" ? showOperation : showActivation)(id);
}

function showOperation(id) {
  const item = operations.items.get(id);
  if (!item) return;
  const path = `cloud/operations/${encodeURIComponent(id)}`;
  const body = [facts([
    ["User", item.userID ?? "anybody: it must be claimed"], ["Type", item.name], ["Data", item.data, true], ["Reason", item.statusReason],
    ["Failures", `${item.failureCount} of ${item.maximumFailureCount}`], ["Created", dateTime.format(new Date(item.created))],
    ["Expires", dateTime.format(new Date(item.expires))], ["Identifier", item.id, "copy"],
  ])];
  const actions = [];
  if (item.status === "PENDING") {
    const place = make("div", {});
    const choices = [...activations.items.values()].filter((one) => one.status === "ACTIVE" && one.userID === item.userID);
    if (choices.length) {
      const choice = make("select", { "aria-label": "Activation" }, ...choices.map((one) => make("option", { value: one.id }, `${one.name ?? "unnamed"} · ${one.id}`)));
      body.push(make("div", { class: "buttons" }, choice, action("Offline QR code", async () => {
        const code = await ask(`${path}/offline/qr?registrationId=${encodeURIComponent(choice.value)}`);
        place.replaceChildren(qr(code.operationQrCodeData, "Offline QR code of the operation"), make("pre", {}, code.operationQrCodeData));
      })), place);
    }
    ask(path).then((full) => {
      if (full.proximityOtp && shownDetails?.id === id) $("details-body").append(facts([["Proximity code", full.proximityOtp, "copy"]]));
    }, () => {});
    actions.push(action("Cancel operation", () => ask(`${path}?statusReason=CANCELED_IN_CONSOLE`, { method: "DELETE" }), "danger"));
  }
  fillDetails([item.title, " ", pill(item.status)], body, actions);
}

function showActivation(id) {
  const item = activations.items.get(id);
  if (!item) return;
  const path = `activations/${encodeURIComponent(id)}`;
  const body = [facts([
    ["User", item.userID], ["Name", item.name], ["Application", item.applicationID], ["Protocol", item.version],
    ["Counter", item.counter], ["Failed attempts", `${item.failedAttempts} of ${item.maximumFailedAttempts}`],
    ["Created", dateTime.format(new Date(item.created))], ["Identifier", item.id, "copy"],
  ])];
  if (item.activationQRCode) {
    body.unshift(qr(item.activationQRCode, "Activation QR code"), facts([["Code", item.activationQRCode.split("#")[0], "copy"], ["QR content", item.activationQRCode, "copy"]]));
  }
  const actions = [];
  if (item.status === "PENDING_COMMIT") actions.push(action("Commit", () => ask(`cloud/registrations/${encodeURIComponent(id)}/commit`, { method: "POST", body: {} }), "primary"));
  if (item.status === "ACTIVE") {
    const steps = make("input", { type: "number", min: "1", max: "1000", value: "1", "aria-label": "Steps" });
    body.push(make("div", { class: "buttons" }, steps, action("Move the server’s counter ahead", () => ask(`${path}/counter`, { method: "POST", body: { advance: Number(steps.value) } }))));
    actions.push(action("Block", () => ask(`${path}/block`, { method: "POST" })));
  }
  if (item.status === "BLOCKED") actions.push(action("Unblock", () => ask(`${path}/unblock`, { method: "POST" })));
  if (item.status !== "REMOVED") actions.push(action("Remove", () => ask(path, { method: "DELETE" }), "danger"));
  fillDetails([item.name ?? item.userID, " ", pill(item.status)], body, actions);
}

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

function showEntry(entry) {
  shownDetails = null;
  $("details").querySelector(".error").textContent = "";
  fillDetails([`${entry.method} ${entry.path} `, pill(entry.isAccepted ? "accepted" : "refused")], [
    facts([["Answer", entry.status], ["Reason", entry.refusal], ["Fault", entry.fault], ["Time", dateTime.format(new Date(entry.time))],
      ["Activation", entry.activationID, "copy"], ["Counter", movement(entry)], ["Query", entry.query, true], ["Number", entry.id]]),
    make("h2", {}, "Headers"), make("pre", {}, entry.headers.map((header) => `${header.name}: ${header.value}`).join("\n")),
    ...(entry.body ? [make("h2", {}, "Request"), make("pre", {}, pretty(entry.body))] : []),
    make("h2", {}, "Response"), make("pre", {}, pretty(entry.responseBody)),
  ], []);
}

// ---- Forms ----------------------------------------------------------------------------------------------------------

function onSubmit(dialog, perform) {
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const error = dialog.querySelector(".error");
    error.textContent = "";
    try { await perform(); dialog.close(); } catch (failure) { error.textContent = failure.message; }
  });
}

let templates = [];

async function loadTemplates() {
  templates = (await ask("templates?limit=1000")).items;
  $("operation-template").replaceChildren(...templates.map((template) => make("option", {}, template.name)));
  chooseTemplate();
}

function chooseTemplate() {
  const template = templates.find((one) => one.name === $("operation-template").value);
  $("operation-template-title").textContent = template?.title ?? "";
  $("operation-parameters").replaceChildren(make("legend", {}, "Parameters (empty: the template’s own)"), ...(template?.parameters ?? []).map((name) =>
    make("label", {}, name, make("input", { name, autocomplete: "off" }))));
}
$("operation-template").addEventListener("input", chooseTemplate);

onSubmit($("new-operation"), () => {
  const body = { template: $("operation-template").value, parameters: {} };
  for (const input of $("operation-parameters").querySelectorAll("input")) if (input.value !== "") body.parameters[input.name] = input.value;
  if ($("operation-user").value.trim()) body.userId = $("operation-user").value.trim();
  if ($("operation-proximity").checked) body.proximityCheckEnabled = true;
  return ask("cloud/operations", { method: "POST", body });
});

onSubmit($("new-activation"), async () => {
  const body = { userId: $("activation-user").value.trim(), flags: [] };
  const made = await ask("cloud/registrations", { method: "POST", body });
  activations.items = new Map([[made.registrationId, await ask(`activations/${encodeURIComponent(made.registrationId)}`)], ...activations.items]);
  activations.show(true);
  showDetails("activations", made.registrationId);
});

for (const button of document.querySelectorAll("[data-open]")) button.addEventListener("click", () => $(button.dataset.open).showModal());
for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
}

// ---- Faults ---------------------------------------------------------------------------------------------------------

const presets = [
  ["Slow: 2 s", { delay: 2 }], ["Busy: 503, retry after 5 s", { status: 503, retryAfter: 5 }], ["Broken: 500", { status: 500 }],
  ["Reset before anything changes", { reset: "before" }], ["Reset after the change", { reset: "after" }], ["Half a body", { body: "truncated" }],
  ["Garbage instead of JSON", { body: "garbage" }], ["HTML content type", { contentType: "text/html" }],
  ["Slow drip: 50 bytes/s", { drip: 50 }], ["Clock 3 h fast", { clockSkew: 10800 }], ["Clock 3 h slow", { clockSkew: -10800 }],
];
let rules = [];

async function setRules(wanted) {
  $("fault-error").textContent = "";
  try { showRules((await ask("faults", { method: "PUT", body: { rules: wanted } })).rules); } catch (failure) { $("fault-error").textContent = failure.message; }
}

function showRules(now) {
  rules = now;
  const editor = $("fault-rules");
  if (document.activeElement !== editor) editor.value = JSON.stringify({ rules }, null, 2);
  $("tab-faults").querySelector(".count").textContent = rules.length || "";
  for (const button of $("fault-switches").children) {
    button.setAttribute("aria-checked", rules.some((rule) => rule.name === button.textContent));
  }
}

$("fault-switches").append(...presets.map(([name, effect]) => make("button", {
  type: "button", role: "switch", "aria-checked": "false",
  onclick: () => {
    if (rules.some((rule) => rule.name === name)) return setRules(rules.filter((rule) => rule.name !== name));
    const probability = Number($("fault-probability").value);
    const match = { path: $("fault-path").value || "/**", ...(probability < 1 ? { probability } : {}) };
    return setRules([...rules, { name, match, effect }]);
  },
}, name)));
$("fault-scope").addEventListener("submit", (event) => event.preventDefault());
$("fault-editor").addEventListener("submit", async (event) => {
  event.preventDefault();
  let wanted;
  try { wanted = JSON.parse($("fault-rules").value).rules; } catch (failure) { $("fault-error").textContent = failure.message; return; }
  await setRules(wanted);
});
$("fault-clear").addEventListener("click", () => setRules([]).then(() => { $("fault-rules").value = JSON.stringify({ rules }, null, 2); }));

// ---- Clock ----------------------------------------------------------------------------------------------------------

let clock = { now: Date.now(), mode: "real", readAt: Date.now() };
const serverNow = () => clock.now + (clock.mode === "real" ? Date.now() - clock.readAt : 0);

function showClock(answer) {
  clock = { now: Date.parse(answer.now), mode: answer.mode, readAt: Date.now() };
  $("clock-mode").textContent = clock.mode === "manual" ? "standing" : "";
  $("clock-stand").disabled = clock.mode === "manual";
  $("clock-run").disabled = clock.mode === "real";
  const minutes = Math.round((serverNow() - Date.now()) / 60000);
  if (document.activeElement !== $("shift")) $("shift").value = minutes;
  showShift(minutes);
  tick();
}

function showShift(minutes) {
  const size = Math.abs(minutes);
  $("shift-text").textContent = `${minutes < 0 ? "−" : "+"}${size >= 60 ? `${Math.floor(size / 60)} h ` : ""}${size % 60} min`;
}

function tick() {
  const now = new Date(serverNow());
  $("now").textContent = time.format(now);
  $("now-large").textContent = dateTime.format(now);
  operations.list.schedule();  // the time that is left
}

const setClock = async (change) => showClock(await ask("clock", { method: "PUT", body: change }));
$("shift").addEventListener("input", () => showShift(Number($("shift").value)));
$("shift").addEventListener("change", () => setClock({ now: new Date(Date.now() + Number($("shift").value) * 60000).toISOString() }));
for (const button of document.querySelectorAll("[data-advance]")) button.addEventListener("click", () => setClock({ advance: Number(button.dataset.advance) }));
$("clock-stand").addEventListener("click", () => setClock({ mode: "manual" }));
$("clock-run").addEventListener("click", () => setClock({ mode: "real", now: new Date(serverNow()).toISOString() }));
$("clock-machine").addEventListener("click", async () => { await setClock({ mode: "manual" }); await setClock({ mode: "real" }); });
$("clock-button").addEventListener("click", () => select("clock"));
setInterval(tick, 1000);

// ---- Connect --------------------------------------------------------------------------------------------------------

const names = {
  baseURL: "Base URL", sdkConfiguration: "SDK configuration", applicationId: "Application", applicationKey: "Application key",
  applicationSecret: "Application secret", masterServerPublicKey: "Master public key", cloudUser: "/v2 user", cloudPassword: "/v2 password",
};

async function loadConfiguration() {
  const configuration = await ask("configuration");
  $("configuration").replaceChildren(...facts(Object.entries(names).map(([key, name]) => [name, configuration[key], "copy"])).children);
}

$("reset").addEventListener("click", () => { if (confirm("Forget all activations, operations, faults and the journal?")) ask("reset", { method: "POST" }); });
$("import").addEventListener("click", () => $("import-file").click());
$("import-file").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  event.target.value = "";
  try { await ask("import", { method: "POST", body: await file.text() }); } catch (failure) { alert(failure.message); }
});

// ---- Views ----------------------------------------------------------------------------------------------------------

const wide = matchMedia("(min-width: 1280px)");
const tabs = [...document.querySelectorAll("[role=tab]")];

function select(name, focus = false) {
  // On a wide page the journal has a place of its own.
  const chosen = name === "journal" && wide.matches ? "operations" : name;
  for (const tab of tabs) {
    const isChosen = tab.id === `tab-${chosen}`;
    tab.setAttribute("aria-selected", isChosen);
    tab.tabIndex = isChosen ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !isChosen;
    if (isChosen && focus) tab.focus();
  }
  history.replaceState(null, "", `#${chosen}`);
}
for (const tab of tabs) tab.addEventListener("click", () => select(tab.getAttribute("aria-controls")));
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const visible = tabs.filter((tab) => tab.offsetParent !== null);
  const index = visible.indexOf(document.activeElement);
  const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: visible.length - 1 }[event.key];
  if (next === undefined || index < 0) return;
  event.preventDefault();
  select(visible.at(next % visible.length).getAttribute("aria-controls"), true);
});
wide.addEventListener("change", () => select(tabs.find((tab) => tab.getAttribute("aria-selected") === "true").getAttribute("aria-controls")));
select(tabs.some((tab) => `#${tab.getAttribute("aria-controls")}` === location.hash) ? location.hash.slice(1) : "operations");

// ---- Live -----------------------------------------------------------------------------------------------------------

function setConnection(state, text) {
  $("connection").dataset.state = state;
  $("connection").textContent = text;
}

async function loadAll() {
  await Promise.all([
    operations.load(), activations.load(), journal.load(), loadTemplates(), loadConfiguration(),
    ask("faults").then((answer) => showRules(answer.rules)), ask("clock").then(showClock),
  ]);
}

const events = new EventSource(new URL("events", api));
const on = (name, handle) => events.addEventListener(name, (event) => handle(JSON.parse(event.data)));
on("ready", () => loadAll().then(() => setConnection("live", "live"), (failure) => setConnection("lost", failure.message)));
on("operation", (event) => operations.touch(event.id));
on("activation", (event) => activations.touch(event.id));
on("request", () => journal.touch());
on("clock", () => ask("clock").then(showClock));
on("faults", () => ask("faults").then((answer) => showRules(answer.rules)));
on("reset", () => loadAll());
events.addEventListener("error", () => setConnection("lost", "connection lost, trying again"));
// A page kept for the back button would keep its connection too, and a browser has six for one server.
addEventListener("pagehide", () => events.close());
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
