// The views and the keys that go between them.

import { $ } from "./dom.js";
import { address, go, onAddress } from "./address.js";

const wide = matchMedia("(min-width: 1280px)");
const tabs = [...document.querySelectorAll("[role=tab]")];
const viewOf = (tab) => tab.getAttribute("aria-controls");
const selected = () => viewOf(tabs.find((tab) => tab.getAttribute("aria-selected") === "true"));

function show() {
  // On a wide page the journal has a place of its own.
  const chosen = address.view === "journal" && wide.matches ? "operations" : address.view;
  for (const tab of tabs) {
    const isChosen = viewOf(tab) === chosen;
    if (isChosen && tab.getAttribute("aria-selected") !== "true") tab.scrollIntoView({ block: "nearest", inline: "center" });
    tab.setAttribute("aria-selected", isChosen);
    tab.tabIndex = isChosen ? 0 : -1;
    $(viewOf(tab)).hidden = !isChosen;
  }
  document.title = `${$(`tab-${chosen}`).firstChild.textContent.trim()} – Mobile Token Emulator`;
}

function select(view, { focus = false } = {}) {
  go({ view });
  if (focus) $(`tab-${view}`).focus();
}

for (const tab of tabs) tab.addEventListener("click", () => select(viewOf(tab)));
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const visible = tabs.filter((tab) => tab.offsetParent !== null);
  const index = visible.indexOf(document.activeElement);
  const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: visible.length - 1 }[event.key];
  if (next === undefined || index < 0) return;
  event.preventDefault();
  select(viewOf(visible.at(next % visible.length)), { focus: true });
});
$("clock-button").addEventListener("click", () => select("clock", { focus: true }));

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input:not([type=checkbox]):not([type=range]), textarea, select");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const target = { "/": "input[type=search]", n: "[data-open]" }[event.key];
  const control = target && $(selected()).querySelector(target);
  if (!control) return;
  event.preventDefault();
  if (event.key === "n") control.click(); else control.focus();
});

wide.addEventListener("change", show);
onAddress(show);
show();
