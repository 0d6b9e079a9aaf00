// The views, the rail that leads to them, and the keys that go between them.

import { $, make } from "./dom.js";
import { address, go, onAddress } from "./address.js";
import { place } from "./spaces.js";

const [rail, menu] = [$("rail"), $("menu")];
const links = [...document.querySelectorAll("#views a")];
const viewOf = (link) => link.hash.slice(1);
const titles = new Map(links.map((link) => [link, link.textContent]));
for (const link of links) {
  link.append(make("span.count"));
  if (viewOf(link) !== "journal") $(viewOf(link)).setAttribute("aria-labelledby", link.id);
}

function show() {
  for (const link of links) {
    const isChosen = viewOf(link) === address.view;
    if (isChosen) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    // The journal is a panel below every view, and a view of its own.
    if (viewOf(link) !== "journal") $(viewOf(link)).hidden = !isChosen;
    if (isChosen) document.title = `${titles.get(link)} · ${place.name} – Mobile Token Emulator`;
  }
  document.body.dataset.view = address.view;
  showMenu(false);
}

function showMenu(isOpen) {
  rail.classList.toggle("open", isOpen);
  menu.setAttribute("aria-expanded", isOpen);
}

menu.onclick = () => showMenu(!rail.classList.contains("open"));
rail.onkeydown = (event) => {
  if (event.key === "Escape" && rail.classList.contains("open")) { showMenu(false); menu.focus(); }
  const index = links.indexOf(document.activeElement);
  const next = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: links.length - 1 }[event.key];
  if (next === undefined || index < 0) return;
  event.preventDefault();
  const link = links.at(next % links.length);
  link.focus();
  go({ view: viewOf(link) });
};
for (const link of document.querySelectorAll("#rail a:not(#above)")) {
  link.onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go({ view: viewOf(link) });
  };
}
$("clock-button").onclick = () => { go({ view: "clock" }); $("tab-clock").focus(); };

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input:not([type=checkbox], [type=range], [type=radio]), textarea, select");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "?") return $("keys").showModal();
  const target = { "/": "input[type=search]", n: "[aria-keyshortcuts=n]" }[event.key];
  const control = target && $(address.view).querySelector(target);
  if (!control) return;
  event.preventDefault();
  if (event.key === "n") control.click(); else control.focus();
});

place.onName = show;
onAddress(show);
show();
