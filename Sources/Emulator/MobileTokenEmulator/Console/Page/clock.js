import { $, button, make } from "./dom.js";
import { activations } from "./activations.js";
import { address, onAddress } from "./address.js";
import { deliveries, receiverOf } from "./deliveries.js";
import { detailsLink } from "./details.js";
import { devices } from "./devices.js";
import { operations } from "./operations.js";
import { ask, quietly } from "./server.js";
import { dateOf, serverNow, setServerTime, tick, timeOf, within } from "./time.js";
import { what } from "./what.js";

export async function loadClock() { showClock(await ask("clock")); }

const setClock = async (change) => showClock(await ask("clock", change, "PUT"));

function showClock({ now, mode }) {
  setServerTime(Date.parse(now), mode);
  const isManual = mode === "manual";
  const minutes = Math.round((serverNow() - Date.now()) / 60000);
  $("clock-manual").setAttribute("aria-pressed", isManual);
  $("clock-run").setAttribute("aria-pressed", !isManual);
  $("clock-mode").textContent = isManual ? "manual" : minutes ? shiftText(minutes) : "";
  $("clock-machine").disabled = !isManual && minutes === 0;
  if (!$("shift").matches(":active")) $("shift").value = minutes;
  showShift(minutes);
  showTime();
}

function shiftText(minutes) {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return (minutes < 0 ? "−" : "+") + [hours && `${hours} h`, rest && `${rest} min`].filter(Boolean).join(" ");
}

function showShift(minutes) {
  const text = minutes ? shiftText(minutes) : "none";
  $("shift-text").textContent = text;
  $("shift").setAttribute("aria-valuetext", text);
}

/** What the server does by itself when its time has come, the next first. */
function coming() {
  const waiting = (items, status) => [...items.values()].filter((one) => one.status === status && one.timestampExpires);
  return [
    ...waiting(operations.items, "PENDING").map((one) => [one.timestampExpires, "operations", one.id, "expires", () => what(one).lead]),
    ...waiting(activations.items, "CREATED").map((one) => [one.timestampExpires, "activations", one.id, "expires", () => `The code of ${one.userId}`]),
    ...[...devices.values()].flatMap(({ id, name, tasks }) => tasks.filter((task) => task.state === "waiting")
      .map((task) => [Date.parse(task.due), "activations", id, "decides", () => name])),
    ...[...deliveries.items.values()].filter((one) => one.due)
      .map((one) => [Date.parse(one.due), "deliveries", one.id, "is sent", () => `The callback ${receiverOf(one)}`]),
  ].sort(([one], [other]) => one - other).slice(0, 8).map(([due, kind, id, does, name]) => ({ due, kind, id, does, name: name() }));
}

let shown;

/** Only a change is drawn: somebody may be about to press a button. */
function showNext() {
  if (address.view !== "clock") return;
  const all = coming();
  const state = JSON.stringify(all);
  if (state === shown) return;
  shown = state;
  const jump = (due) => quietly(setClock({ advance: Math.max(1, Math.ceil((due - serverNow()) / 1000)), settle: true }));
  $("clock-next").replaceChildren(...(all.length ? all.map(({ due, kind, id, name, does }) => make("li",
    make("div", detailsLink(kind, id, name), ` ${does} in `, within(due)), button("Jump", () => jump(due), { "aria-label": `Jump to when ${name} ${does}` })))
    : [make("li.muted", "Nothing waits for its time: no operation, code, decision or callback.")]));
}

function showTime() {
  showNext();
  const now = serverNow();
  $("now").textContent = $("now-large").textContent = timeOf(now);
  $("now-date").textContent = dateOf(now);
}

const shift = () => Number($("shift").value);
const at = (time) => new Date(time).toISOString();
$("shift").oninput = () => showShift(shift());
$("shift").onchange = () => setClock({ now: at(Date.now() + shift() * 60000) });
for (const one of document.querySelectorAll("[data-advance]")) one.onclick = () => setClock({ advance: Number(one.dataset.advance) });
$("clock-manual").onclick = () => setClock({ mode: "manual" });
$("clock-run").onclick = () => setClock({ mode: "real", now: at(serverNow()) });
$("clock-machine").onclick = () => setClock({ mode: "real", now: at(Date.now()) });
setInterval(() => { showTime(); tick(); }, 1000);
onAddress(showNext);
