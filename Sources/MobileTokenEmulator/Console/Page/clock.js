import { $ } from "./dom.js";
import { ask } from "./server.js";
import { dateOf, serverNow, setServerTime, tick, timeOf } from "./time.js";

export async function loadClock() { showClock(await ask("clock")); }

async function setClock(change) { showClock(await ask("clock", { method: "PUT", body: change })); }

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
  const size = Math.abs(minutes);
  const hours = Math.floor(size / 60);
  return [minutes < 0 ? "−" : "+", hours ? `${hours} h` : "", hours && size % 60 ? " " : "", size % 60 ? `${size % 60} min` : ""].join("");
}

function showShift(minutes) {
  const text = minutes ? shiftText(minutes) : "none";
  $("shift-text").textContent = text;
  $("shift").setAttribute("aria-valuetext", text);
}

function showTime() {
  const now = serverNow();
  $("now").textContent = timeOf(now);
  $("now-large").textContent = timeOf(now);
  $("now-date").textContent = dateOf(now);
}

$("shift").addEventListener("input", () => showShift(Number($("shift").value)));
$("shift").addEventListener("change", () => setClock({ now: new Date(Date.now() + Number($("shift").value) * 60000).toISOString() }));
for (const button of document.querySelectorAll("[data-advance]")) {
  button.addEventListener("click", () => setClock({ advance: Number(button.dataset.advance) }));
}
$("clock-manual").addEventListener("click", () => setClock({ mode: "manual" }));
$("clock-run").addEventListener("click", () => setClock({ mode: "real", now: new Date(serverNow()).toISOString() }));
$("clock-machine").addEventListener("click", () => setClock({ mode: "real", now: new Date().toISOString() }));
setInterval(() => { showTime(); tick(); }, 1000);
