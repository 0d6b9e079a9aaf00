import { $, confirmButton, make, status as stateOf } from "./dom.js";
import { address, addressOf, go, onAddress, split } from "./address.js";
import { qrURL } from "./server.js";

const kinds = new Map();
let shown = null;  // what is open: {key, render}
let isReady = false;

/**
 * Says how the details of a kind are shown. `define(id)` gives `{prepare, render}`: `prepare()` fetches what is missing and
 * returns a promise if that takes time; `render()` gives `{title, status, body, actions}`, and is asked again when it has
 * changed. What `isWide` takes as much of the page as there is.
 */
export function defineDetails(kind, define) { kinds.set(kind, define); }

/** Opens the drawer, as a new entry of the browser's history. */
export const showDetails = (kind, id) => go({ open: `${kind}/${id}` });

/** A link that opens the drawer. */
export const detailsLink = (kind, id, ...content) => make("a", { href: addressOf(kind, id) }, ...content);

/** What is open, if anything: `kind/id`. */
export const shownKey = () => ($("details").open ? shown?.key : undefined);

/** What is open follows what happens. */
export function refreshDetails(key) {
  if ($("details").open && shown?.key === key && shown.render) draw();
}

/** From now on there is something to show. */
export function openAddressedDetails() {
  isReady = true;
  follow();
}

onAddress(follow);
// By the end of the task that closed it: the event "close" comes later than the next click may, which would then take
// along what is no longer open.
new MutationObserver(() => { if (address.open && !$("details").open) go({ open: undefined }); })
  .observe($("details"), { attributeFilter: ["open"] });

async function follow() {
  if (!isReady || shownKey() === address.open) return;
  if (!address.open) return $("details").close();
  const key = address.open;
  const [kind, id] = split(key);
  const view = kinds.get(kind)?.(id) ?? { render: () => missing("There is nothing of this kind") };
  const mine = shown = { key, isWide: view.isWide };
  showError("");
  try {
    const pending = view.prepare?.();
    if (pending) await pending;
    mine.render = view.render;
  } catch (failure) {
    mine.render = () => missing(failure.message);
  }
  if (shown !== mine || address.open !== key) return;
  draw();
  $("details-body").scrollTop = 0;
  if ($("details").open) $("details").querySelector(".close").focus();
  else $("details").showModal();
}

const missing = (reason) => ({ title: "Not there", status: "unknown", body: [make("p", {}, `${reason}.`.replace("..", "."))] });

function draw() {
  const kept = whatUserDid();
  const { title, status, body, actions = [] } = shown.render();
  $("details-title").replaceChildren(make("span", {}, ...[title].flat()), " ", stateOf(...[status].flat()));
  $("details").classList.toggle("wide", Boolean(shown.isWide));
  $("details-body").replaceChildren(...body.flat().filter(Boolean));
  $("details-actions").replaceChildren(...actions);
  restore(kept);
}

/** What has been typed, opened and asked for, and where the focus is, by the names in `data-action`. */
function whatUserDid() {
  const dialog = $("details");
  const named = (selector) => [...dialog.querySelectorAll(selector)];
  return {
    key: shown.key,
    values: new Map(named(":is(input, select, textarea)[data-action]:not([type=radio])").map((input) => [input.dataset.action, input.value])),
    chosen: named("[type=radio]:checked").map((one) => one.dataset.action),
    opened: new Map(named("details[data-action]").map((one) => [one.dataset.action, one.open])),
    armed: dialog.querySelector(".armed")?.dataset.action,
    focused: dialog.contains(document.activeElement) ? document.activeElement.dataset.action : undefined,
  };
}

function restore({ key, values, chosen, opened, armed, focused }) {
  const find = (name) => $("details").querySelector(`[data-action="${CSS.escape(name)}"]`);
  if (key === $("details").dataset.key) {
    for (const [name, value] of values) if (find(name)) find(name).value = value;
    for (const name of chosen) if (find(name)) find(name).checked = true;
    for (const [name, isOpen] of opened) if (find(name)) find(name).open ||= isOpen;
    if (armed) find(armed)?.arm();
    // The button that had the focus may have gone.
    if (focused) (find(focused) ?? $("details").querySelector(".close")).focus();
  }
  $("details").dataset.key = key;
}

const showError = (text) => { $("details").querySelector(".error").textContent = text; };

/** Does what a button of the drawer is for; a refusal is shown beside it. */
export async function attempt(button, perform) {
  showError("");
  button.disabled = true;
  try { await perform(); } catch (failure) { showError(failure.message); } finally { button.disabled = false; }
}

/** A button of the drawer; a refusal is shown beside it. */
export function action(label, perform, kind = "") {
  const button = make("button", { type: "button", class: kind, "data-action": label }, label);
  button.addEventListener("click", () => attempt(button, perform));
  return button;
}

/** The same for what cannot be undone. */
export const dangerousAction = (label, question, perform) =>
  confirmButton(label, question, (button) => attempt(button, perform));

/** A heading and what stands below it; nothing when there is nothing. */
export function section(title, ...content) {
  const shown = content.flat().filter(Boolean);
  return shown.length ? [make("h3", {}, title), ...shown] : [];
}

/** What few need to see. */
export const folded = (title, isOpen, ...content) =>
  make("details", { "data-action": title, open: isOpen, class: "folded" }, make("summary", {}, title), content);

/** A text as it is, with its lines. */
export const plain = (text) => (text ? make("pre", { tabindex: "0" }, text) : undefined);

/** JSON on several lines, its numbers as they are written; anything else as it is. */
export function pretty(text) {
  try {
    // What a script reads as a number it may round: 100.00, or an amount of twenty digits.
    const exact = (key, value, context) => (typeof value === "number" && JSON.rawJSON ? JSON.rawJSON(context.source) : value);
    return JSON.stringify(JSON.parse(text, exact), null, 2);
  } catch {
    return text;
  }
}

/** A QR code on white, large enough for the camera of a phone. */
export const qrCode = (text, label) => make("img", { class: "qr", alt: label, src: qrURL(text) });
