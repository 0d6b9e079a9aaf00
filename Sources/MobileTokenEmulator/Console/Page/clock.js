import { $, dateOf, timeOf } from "./dom.js";
import { ask } from "./server.js";

let clock = { now: Date.now(), mode: "real", readAt: Date.now() };

/** The server's time, in milliseconds. */
export const serverNow = () => clock.now + (clock.mode === "real" ? Date.now() - clock.readAt : 0);

export async function loadClock() { showClock(await ask("clock")); }

async function setClock(change) { showClock(await ask("clock", { method: "PUT", body: change })); }

function showClock(answer) {
  clock = { now: Date.parse(answer.now), mode: answer.mode, readAt: Date.now() };
  const isStanding = clock.mode === "manual";
  const minutes = Math.round((serverNow() - Date.now()) / 60000);
  $("clock-stand").setAttribute("aria-pressed", isStanding);
  $("clock-run").setAttribute("aria-pressed", !isStanding);
  $("clock-mode").textContent = isStanding ? "standing" : minutes ? shiftText(minutes) : "";
  $("clock-machine").disabled = !isStanding && minutes === 0;
  if (!$("shift").matches(":active")) $("shift").value = minutes;
  showShift(minutes);
  showTime();
}

function shiftText(minutes) {
  const size = Math.abs(minutes);
  const hours = Math.floor(size / 60);
  return [minutes < 0 ? "−" : "+", hours ? `${hours} h` : "", hours && size % 60 ? " " : "", size % 60 ? `${size % 60} min` : ""].join("");
}

function showShift(minutes) {
  const text = minutes ? shiftText(minutes) : "none";
  $("shift-text").textContent = text;
  $("shift").setAttribute("aria-valuetext", text);
}

export function showTime() {
  const now = serverNow();
  $("now").textContent = timeOf(now);
  $("now-large").textContent = dateOf(now);
}

$("shift").addEventListener("input", () => showShift(Number($("shift").value)));
$("shift").addEventListener("change", () => setClock({ now: new Date(Date.now() + Number($("shift").value) * 60000).toISOString() }));
for (const button of document.querySelectorAll("[data-advance]")) {
  button.addEventListener("click", () => setClock({ advance: Number(button.dataset.advance) }));
}
$("clock-stand").addEventListener("click", () => setClock({ mode: "manual" }));
$("clock-run").addEventListener("click", () => setClock({ mode: "real", now: new Date(serverNow()).toISOString() }));
$("clock-machine").addEventListener("click", () => setClock({ mode: "real", now: new Date().toISOString() }));
