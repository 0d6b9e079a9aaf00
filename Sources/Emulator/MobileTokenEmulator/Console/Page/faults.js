import { $, button, make, showTotal, tried } from "./dom.js";
import { address, onView } from "./address.js";
import { detailsLink } from "./details.js";
import { journal } from "./journal.js";
import { ask, at } from "./server.js";
import { ago } from "./time.js";

const presets = [
  ["Slow: 2 s", "Every answer comes two seconds late", { delay: 2 }],
  ["Busy: 503", "Not now, try again after 5 s", { status: 503, retryAfter: 5 }],
  ["Broken: 500", "An internal error; nothing changes", { status: 500 }],
  ["Lost request", "Connection reset before the change", { reset: "before" }],
  ["Lost answer", "Connection reset after the change", { reset: "after" }],
  ["Held: 40 s", "Carried out later in order, even if the client has gone", { hold: 40 }],
  ["Late: 504", "A proxy gives up now; carried out 5 s later", { late: 5 }],
  ["Repeated", "Carried out twice; the second answer", { repeat: "second" }],
  ["Page before", "A proxy’s 403; nothing changes", { page: { when: "before", status: 403 } }],
  ["Page after", "A proxy’s 403 after the change", { page: { when: "after", status: 403 } }],
  ["No signature", "X-PowerAuth-Authorization is lost on the way", { strip: "X-PowerAuth-Authorization" }],
  ["Half a body", "The answer breaks off in the middle", { body: "truncated" }],
  ["Garbage", "Something that is no JSON, as JSON", { body: "garbage" }],
  ["Wrong content type", "The answer says it is HTML", { contentType: "text/html" }],
  ["Slow drip", "The answer comes at 50 bytes/s", { drip: 50 }],
  ["Clock 3 h fast", "The server’s clock, for these requests", { clockSkew: 10800 }],
  ["Clock 3 h slow", "The server’s clock, for these requests", { clockSkew: -10800 }],
];
let rules = [];

export async function loadFaults() { showRules(await ask("faults")); }

const change = (wanted) => tried($("fault-error"), async () =>
  showRules(await ask("faults", { rules: typeof wanted === "function" ? wanted() : wanted }, "PUT")));
const post = (path) => tried($("fault-error"), async () => showRules(await ask(path, {}, "POST")));

function showRules({ rules: now, counts }) {
  rules = now;
  if (document.activeElement !== $("fault-rules")) $("fault-rules").value = JSON.stringify({ rules }, null, 2);
  showTotal("faults", rules.length);
  for (const one of $("fault-switches").children) one.setAttribute("aria-checked", rules.some((rule) => rule.name === one.dataset.name));
  $("fault-clear").disabled = rules.length === 0;
  $("fault-list").replaceChildren(...(rules.length ? rules.map((rule, index) => renderRule(rule, counts[index], index)) : [make("li.muted", "None. Everything goes well.")]));
}

function renderRule({ match: { path = "/**", ...others }, effect }, { name, matched, struck, waiting }, index) {
  const isSpent = matched >= (others.first ?? others.nth ?? Infinity);
  const said = (values) => Object.entries(values).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");
  return make("li",
    make("div", make("b", name), " ", make("code", path), make("p.hint", said(effect), Object.keys(others).length > 0 && ` · only if ${said(others)}`,
      struck > 0 && ` · struck ${struck}${others.first ? ` of ${others.first}` : ""}${isSpent ? ", spent" : ""}`)),
    waiting > 0 && button(`Release ${waiting}`, () => post(at`faults/release?name=${name}`), { "aria-label": `Carry out what ${name} holds` }),
    button("Remove", () => change(rules.toSpliced(index, 1)), { "aria-label": `Remove the rule ${name}` }));
}

$("fault-switches").append(...presets.map(([name, explanation, effect]) => button(make("span", make("b", name), make("span.hint", explanation)), () => {
  if (rules.some((rule) => rule.name === name)) return change(rules.filter((rule) => rule.name !== name));
  const probability = Number($("fault-probability").value);
  return change([...rules, { name, match: { path: $("fault-path").value || "/**", ...(probability < 1 ? { probability } : {}) }, effect }]);
}, { role: "switch", "aria-checked": "false", "data-name": name })));
$("fault-scope").onsubmit = (event) => event.preventDefault();
$("fault-editor").onsubmit = (event) => {
  event.preventDefault();
  return change(() => JSON.parse($("fault-rules").value).rules);
};
$("fault-clear").onclick = () => change([]);
let shown;

/** The last requests that met a rule. */
export function showStruck() {
  if (address.view !== "faults") return;
  const struck = journal.entries.filter((one) => one.fault).slice(0, 12);
  const state = struck.map((one) => one.id).join();
  if (state === shown) return;
  shown = state;
  $("fault-struck").replaceChildren(...(struck.length ? struck.map((one) => make("li", make("div",
    detailsLink("journal", one.id, `${one.callbackName ?? one.method} ${one.path}`),
    make("p.hint", `${[one.fault, one.faultEffect].filter(Boolean).join(": ")} · `, ago(one.time))))) : [make("li.muted", "No request has met a rule.")]));
}
onView("faults", () => { showStruck(); return loadFaults(); });
$("fault-real").onclick = () => post("faults/real");
