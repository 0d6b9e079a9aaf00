import { $, button, make } from "./dom.js";
import { address, onAddress } from "./address.js";
import { detailsLink } from "./details.js";
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

let next;

/** The operation that expires first, and the way there. */
function showNext() {
  if (address.view !== "clock") return;
  const first = [...operations.items.values()].filter((one) => one.status === "PENDING")
    .reduce((first, one) => (!first || one.timestampExpires < first.timestampExpires ? one : first), undefined);
  if (first === next) return;
  next = first;
  const jump = () => quietly(setClock({ advance: Math.max(1, Math.ceil((first.timestampExpires - serverNow()) / 1000)), settle: true }));
  $("clock-next").replaceChildren(...(first
    ? ["Next: ", detailsLink("operations", first.id, what(first).lead), " expires in ", within(first.timestampExpires), " ", button("Jump", jump, { "aria-label": "Jump to its expiry" })] : []));
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
