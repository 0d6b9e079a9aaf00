import { $, button, make, showTotal, tried } from "./dom.js";
import { ask } from "./server.js";

const presets = [
  ["Slow: 2 s", "Every answer comes two seconds late", { delay: 2 }],
  ["Busy: 503", "Not now, try again after 5 s", { status: 503, retryAfter: 5 }],
  ["Broken: 500", "An internal error; nothing changes", { status: 500 }],
  ["Lost request", "Connection reset before the change", { reset: "before" }],
  ["Lost answer", "Connection reset after the change", { reset: "after" }],
  ["Half a body", "The answer breaks off in the middle", { body: "truncated" }],
  ["Garbage", "Something that is no JSON, as JSON", { body: "garbage" }],
  ["Wrong content type", "The answer says it is HTML", { contentType: "text/html" }],
  ["Slow drip", "The answer comes at 50 bytes/s", { drip: 50 }],
  ["Clock 3 h fast", "The server’s clock, for these requests", { clockSkew: 10800 }],
  ["Clock 3 h slow", "The server’s clock, for these requests", { clockSkew: -10800 }],
];
let rules = [];

export async function loadFaults() { showRules((await ask("faults")).rules); }

const change = (wanted) => tried($("fault-error"), async () =>
  showRules((await ask("faults", { rules: typeof wanted === "function" ? wanted() : wanted }, "PUT")).rules));

function showRules(now) {
  rules = now;
  if (document.activeElement !== $("fault-rules")) $("fault-rules").value = JSON.stringify({ rules }, null, 2);
  showTotal("faults", rules.length);
  for (const one of $("fault-switches").children) one.setAttribute("aria-checked", rules.some((rule) => rule.name === one.dataset.name));
  $("fault-clear").disabled = rules.length === 0;
  $("fault-list").replaceChildren(...(rules.length ? rules.map(renderRule) : [make("li.muted", "None. Everything goes well.")]));
}

function renderRule({ name = "unnamed", match: { path = "/**", ...others }, effect }, index) {
  const said = (values) => Object.entries(values).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");
  return make("li",
    make("div", make("b", name), " ", make("code", path), make("p.hint", said(effect), Object.keys(others).length > 0 && ` · only if ${said(others)}`)),
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
