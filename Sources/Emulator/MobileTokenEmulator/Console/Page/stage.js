// The phone that rings: beside the list stands the phone of whoever is to decide, with its real buttons.

import { $, announce, button, make } from "./dom.js";
import { askExact, at, ownLanguage } from "./server.js";
import { keep } from "./details.js";
import { onOperations, operations } from "./operations.js";
import { journal, reasonOf } from "./journal.js";
import { deciders } from "./devices.js";
import { sentence } from "./what.js";
import { decisionControls, frame, phone } from "./phone.js";
import { openDialog } from "./dialogs.js";

const stage = $("stage");
const pause = 2500;  // milliseconds for which what was decided stays
const known = new Set();  // operations that have rung
const called = new Set();  // those of them that had a phone to ring
let current = null;  // {id, preview}
let failure = "";
let calling;  // the operation that has rung in this page and was not put away
let asked = 0;

/** Whether all is loaded: only what comes later is new. */
export const isReady = () => "ready" in document.body.dataset;

/** The newest that waits, one for a virtual phone first; then the last that was shown. */
function chosen() {
  const waiting = [...operations.items.values()].filter((one) => one.status === "PENDING").slice(-200).reverse();
  const next = waiting.find((one) => deciders(one).length) ?? waiting[0];
  const shown = current && operations.items.get(current.id);
  // The newest rings, but not under the hands of a person.
  if (!shown || shown.status === "PENDING") return shown && deciders(shown).length && stage.matches(":hover, :focus-within") ? shown : next;
  // What was decided stays for a moment, or until there is something else.
  if (!current.decided) {
    current.decided = Date.now();
    const { id } = current;
    setTimeout(() => {
      if (calling === id) calling = undefined;  // where it covers the list, it is put away
      showStage();
    }, pause);
  }
  return next && Date.now() - current.decided >= pause - 50 ? next : shown;
}

function findingOf(id) {
  const entry = journal.entries.find((one) => !one.isAccepted && one.deliveryId === undefined && one.operationIds?.includes(id));
  return (entry && reasonOf(entry)) ?? "Refused";
}

async function attempt(pressed, perform) {
  const setDisabled = (isDisabled) => stage.querySelectorAll("button").forEach((one) => { one.disabled = isDisabled; });
  setDisabled(true);
  failure = "";
  try { await perform(); } catch (problem) { failure = problem.message; }
  setDisabled(false);
  showStage();
}

async function prepare(item) {
  const mine = current = { id: item.id, preview: { language: "en", operation: { formData: item.formData } } };
  failure = "";
  const number = ++asked;
  const preview = await askExact(at`operations/${item.id}/preview?language=${ownLanguage}`).catch(() => undefined);
  if (number !== asked || !preview) return;
  mine.preview = preview;
  showStage();
}

export function showStage() {
  const item = chosen();
  const isPending = item?.status === "PENDING";
  const device = item && deciders(item)[0];
  const rings = isPending && !known.has(item.id);
  if (isPending && device && !called.has(item.id)) {
    called.add(item.id);  // the phone may be heard of after the operation
    if (isReady()) calling = item.id;
  }
  stage.classList.toggle("calls", Boolean(item && item.id === calling));
  if (!item) {
    if (current || !stage.hasChildNodes()) stage.replaceChildren(idle());
    current = null;
    return;
  }
  if (item.id !== current?.id) prepare(item);
  if (rings) {
    known.add(item.id);
    current.rang = isReady() && Date.now();
    if (current.rang) announce(`To decide: ${sentence(item)}`);
  }
  const refused = isPending && item.failureCount ? `${findingOf(item.id)}: ${item.failureCount} of ${item.maxFailureCount} attempts refused` : "";
  const state = [item.id, item.status, refused, failure, device?.id, device?.name, item.proximityOtp].join("\n");
  if (state === current.state && current.preview === current.drawn) return;
  Object.assign(current, { state, drawn: current.preview });
  const close = make("button.quiet.close", { type: "button", "aria-label": "Put the phone away", onclick: () => { calling = undefined; showStage(); } }, "×");
  const restore = keep(stage, close);
  const made = phone({
    ...current.preview, status: item.status, owner: device?.name ?? (item.userId ? `${item.userId}’s phone` : "Anybody’s phone"),
    controls: device && isPending ? decisionControls(item, device, current.preview.operation.ui?.flipButtons, attempt) : undefined,
    notice: failure || refused ? make("p.error", { role: "alert" }, refused || failure) : undefined,
  });
  if (Date.now() - current.rang < 900) made.classList.add("ringing");
  stage.replaceChildren(close, made);
  if (isPending && !device && item.userId) {
    stage.append(make("p.hint", `A client of ${item.userId}’s decides. `, button("Make a virtual phone", () => makePhone(item.userId), { class: "link" })));
  }
  restore();
}

function makePhone(userId) {
  $("activation-user").value = userId;
  if (!$("activation-virtual").checked) $("activation-virtual").click();
  openDialog($("new-activation"));
}

const idle = () => frame("Phone", "idle", make("p.heading", "Nothing to decide"), make("p.muted", "It rings when an operation arrives."));

onOperations(showStage);
