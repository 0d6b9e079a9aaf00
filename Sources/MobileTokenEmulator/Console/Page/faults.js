import { $, make } from "./dom.js";
import { ask } from "./server.js";

const presets = [
  ["Slow: 2 s", "Every answer comes two seconds late", { delay: 2 }],
  ["Busy: 503", "Not now, try again after 5 s", { status: 503, retryAfter: 5 }],
  ["Broken: 500", "An internal error; nothing changes", { status: 500 }],
  ["Lost request", "Connection reset before anything changes", { reset: "before" }],
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

async function setRules(wanted) {
  $("fault-error").textContent = "";
  try {
    showRules((await ask("faults", { method: "PUT", body: { rules: wanted } })).rules);
  } catch (failure) {
    $("fault-error").textContent = failure.message;
  }
}

function showRules(now) {
  rules = now;
  if (document.activeElement !== $("fault-rules")) $("fault-rules").value = JSON.stringify({ rules }, null, 2);
  $("tab-faults").querySelector(".count").textContent = rules.length || "";
  for (const button of $("fault-switches").children) {
    button.setAttribute("aria-checked", rules.some((rule) => rule.name === button.dataset.name));
  }
  $("fault-clear").disabled = rules.length === 0;
  $("fault-list").replaceChildren(...(rules.length ? rules.map(renderRule) : [make("li", { class: "muted" }, "None. Everything goes well.")]));
}

function renderRule(rule, index) {
  const said = (values) => Object.entries(values).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");
  const { path, ...others } = rule.match;
  return make("li", {},
    make("div", {}, make("b", {}, rule.name ?? "unnamed"), " ", make("code", {}, path ?? "/**"),
      make("p", { class: "hint" }, [said(rule.effect), Object.keys(others).length ? `only if ${said(others)}` : ""].filter(Boolean).join(" · "))),
    make("button", {
      type: "button", "aria-label": `Remove the rule ${rule.name ?? "unnamed"}`, onclick: () => setRules(rules.toSpliced(index, 1)),
    }, "Remove"));
}

$("fault-switches").append(...presets.map(([name, explanation, effect]) => make("button", {
  type: "button", role: "switch", "aria-checked": "false", "data-name": name,
  onclick: () => {
    if (rules.some((rule) => rule.name === name)) return setRules(rules.filter((rule) => rule.name !== name));
    const probability = Number($("fault-probability").value);
    const match = { path: $("fault-path").value || "/**", ...(probability < 1 ? { probability } : {}) };
    return setRules([...rules, { name, match, effect }]);
  },
}, make("span", {}, make("b", {}, name), make("span", { class: "hint" }, explanation)))));
$("fault-scope").addEventListener("submit", (event) => event.preventDefault());
$("fault-editor").addEventListener("submit", async (event) => {
  event.preventDefault();
  let wanted;
  try {
    wanted = JSON.parse($("fault-rules").value).rules;
  } catch (failure) {
    $("fault-error").textContent = failure.message;
    return;
  }
  await setRules(wanted);
});
$("fault-clear").addEventListener("click", () => setRules([]));
