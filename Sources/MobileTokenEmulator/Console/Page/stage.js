// The phone that rings: beside the list stands the phone of whoever is to decide, with its real buttons.

import { $, announce, make } from "./dom.js";
import { askExact } from "./server.js";
import { onOperation, operations } from "./operations.js";
import { journal, reasonOf } from "./journal.js";
import { deciders } from "./devices.js";
import { sentence } from "./what.js";
import { phone } from "./phone.js";
import { decisionControls } from "./decide.js";
import { openDialog } from "./dialogs.js";

let current = null;  // {id, preview}
let failure = "";
const pause = 2500;  // milliseconds for which what was decided stays
let calling;  // the operation that has rung in this page and was not put away
const known = new Set();

/** The operation that a phone shows: the newest that waits, one for a virtual phone first; then the last that was shown. */
function chosen() {
  const waiting = [...operations.items.values()].filter((one) => one.status === "PENDING").slice(-200).reverse();
  const next = waiting.find((one) => deciders(one).length) ?? waiting[0];
  const shown = current && operations.items.get(current.id);
  // The newest rings, but not under the hands of a person.
  if (!shown || shown.status === "PENDING") return shown && deciders(shown).length && $("stage").matches(":hover, :focus-within") ? shown : next;
  // What was decided stays for a moment, or until there is something else.
  if (!current.decided) {
    current.decided = Date.now();
    setTimeout(showStage, pause);
  }
  return next && Date.now() - current.decided >= pause - 50 ? next : shown;
}

const findingOf = (id) => {
  const entry = journal.entries.find((one) => !one.isAccepted && one.operationIDs?.includes(id));
  return (entry && reasonOf(entry)) ?? "Refused";
};

async function attempt(button, perform) {
  const buttons = $("stage").querySelectorAll("button");
  buttons.forEach((one) => { one.disabled = true; });
  try { await perform(); failure = ""; } catch (problem) { failure = problem.message; } finally { buttons.forEach((one) => { one.disabled = false; }); showStage(); }
}

let asked = 0;

async function prepare(item) {
  const mine = current = { id: item.id, preview: { language: "en", operation: { formData: item.formData } } };
  failure = "";
  const number = ++asked;
  const preview = await askExact(`operations/${encodeURIComponent(item.id)}/preview?language=${encodeURIComponent(navigator.language)}`).catch(() => undefined);
  if (number !== asked || !preview) return;
  mine.preview = preview;
  showStage();
}

/** Shows the phone as it is to be now. */
export function showStage() {
  const item = chosen();
  const stage = $("stage");
  const device = item && deciders(item)[0];
  const rings = item?.status === "PENDING" && !known.has(item.id);
  if (rings && device && "ready" in document.body.dataset) calling = item.id;
  stage.classList.toggle("calls", Boolean(item && item.id === calling));
  if (!item) {
    if (current || !stage.hasChildNodes()) stage.replaceChildren(idle());
    current = null;
    return;
  }
  if (item.id !== current?.id) prepare(item);
  if (rings) {
    known.add(item.id);
    current.rang = "ready" in document.body.dataset && Date.now();
    if (current.rang) announce(`To decide: ${sentence(item)}`);
  }
  const refused = item.status === "PENDING" && item.failureCount ? `${findingOf(item.id)}: ${item.failureCount} of ${item.maximumFailureCount} attempts refused` : "";
  const state = [item.id, item.status, refused, failure, device?.id, device?.name, item.proximityCode].join("\n");
  if (state === current.state && current.preview === current.drawn) return;
  Object.assign(current, { state, drawn: current.preview });
  const kept = stage.querySelector("[value=wrong]")?.checked && stage.dataset.id === item.id;
  const focused = stage.contains(document.activeElement) ? document.activeElement.dataset.action : undefined;
  const decides = device && item.status === "PENDING";
  const made = phone({
    ...current.preview, status: item.status, owner: device?.name ?? (item.userID ? `${item.userID}’s phone` : "Anybody’s phone"),
    controls: decides ? decisionControls(item, device, current.preview.operation.ui?.flipButtons, attempt) : undefined,
    notice: failure || refused ? make("p", { class: "error", role: "alert" }, refused || failure) : undefined,
  });
  if (Date.now() - current.rang < 900) made.classList.add("ringing");
  const close = make("button", { type: "button", class: "quiet close", "aria-label": "Put the phone away", onclick: () => { calling = undefined; showStage(); } }, "×");
  const offer = item.status === "PENDING" && !device && item.userID ? make("p", { class: "hint" }, `A client of ${item.userID}’s decides. `,
    make("button", { type: "button", class: "link", onclick: () => makePhone(item.userID) }, "Make a virtual phone")) : null;
  stage.replaceChildren(close, made, offer ?? "");
  stage.dataset.id = item.id;
  if (kept && stage.querySelector("[value=wrong]")) stage.querySelector("[value=wrong]").checked = true;
  if (focused) (stage.querySelector(`[data-action="${CSS.escape(focused)}"]`) ?? close).focus({ preventScroll: true });
}

function makePhone(userID) {
  $("activation-user").value = userID;
  if (!$("activation-virtual").checked) $("activation-virtual").click();
  openDialog($("new-activation"));
}

const idle = () => make("article", { class: "phone idle", "aria-label": "A phone" },
  make("header", {}, make("span", { class: "owner" }, "Phone"), make("span", { class: "speaker", "aria-hidden": "true" })),
  make("div", { class: "glass" }, make("p", { class: "heading" }, "Nothing to decide"), make("p", { class: "muted" }, "It rings when an operation arrives.")));

onOperation(() => showStage());
