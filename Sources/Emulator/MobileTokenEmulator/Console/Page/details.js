import { $, button, confirmButton, make, status as stateOf, tried } from "./dom.js";
import { address, addressOf, go, onAddress, split } from "./address.js";
import { qrURL } from "./server.js";
import { exactTime } from "./time.js";

const drawer = $("details");
const error = drawer.querySelector(".error");
const closing = drawer.querySelector(".close");
const kinds = new Map();
let shown = null;  // what is open
let isReady = false;

/**
 * `define(id)` gives `{isWide, prepare, render}`: `prepare()` fetches what is missing, `render()` gives
 * `{title, status, body, actions}`, again when something has changed.
 */
export function defineDetails(kind, define) { kinds.set(kind, define); }

export const showDetails = (kind, id) => go({ open: `${kind}/${id}` });

export const detailsLink = (kind, id, ...content) => make("a", { href: addressOf(kind, id) }, ...content);

export const shownKey = () => (drawer.open ? shown?.key : undefined);

export function refreshDetails(key) { if (shownKey() === key && shown?.render) draw(); }

export function openAddressedDetails() {
  isReady = true;
  follow();
}

onAddress(follow);
// The event "close" may come later than the next click, which would then take along what is no longer open.
new MutationObserver(() => { if (address.open && !drawer.open) go({ open: undefined }); }).observe(drawer, { attributeFilter: ["open"] });

async function follow() {
  if (!isReady || shownKey() === address.open) return;
  if (!address.open) return drawer.close();
  const key = address.open;
  const [kind, id] = split(key);
  const view = kinds.get(kind)?.(id) ?? { render: () => missing("There is nothing of this kind") };
  const mine = shown = { key, isWide: view.isWide };
  error.textContent = "";
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
  if (drawer.open) closing.focus(); else drawer.showModal();
}

const missing = (reason) => ({ title: "Not there", status: "unknown", body: [make("p", `${reason}.`.replace("..", "."))] });

function draw() {
  const restore = shown.key === drawer.dataset.key ? keep(drawer, closing) : () => {};
  const { title, status, body, actions = [] } = shown.render();
  $("details-title").replaceChildren(make("span", title), " ", stateOf(...[status].flat()));
  drawer.classList.toggle("wide", Boolean(shown.isWide));
  $("details-body").replaceChildren(...body.flat(Infinity).filter(Boolean));
  $("details-actions").replaceChildren(...actions);
  restore();
  drawer.dataset.key = shown.key;
}

/** Keeps what a person did in `place`; the result puts it back into what was drawn anew, or gives the focus to `other`. */
export function keep(place, other) {
  const kept = [...place.querySelectorAll("[data-action]")].map((one) => ({
    name: one.dataset.action, value: one.value, checked: one.checked, isOpen: one.open, isArmed: one.matches(".armed"),
    hasFocus: one === document.activeElement, selected: [one.selectionStart, one.selectionEnd],
  }));
  return () => {
    for (const { name, value, checked, isOpen, isArmed, hasFocus, selected } of kept) {
      const one = place.querySelector(`[data-action="${CSS.escape(name)}"]`);
      if (one?.type === "radio") one.checked ||= checked;
      else if (one?.matches("input, select, textarea")) one.value = value;
      if (isOpen && one) one.open = true;
      if (isArmed) one?.arm();
      if (!hasFocus) continue;
      (one ?? other).focus({ preventScroll: true });
      // What is about to be typed over stays selected.
      if (one && Number.isInteger(selected[0])) one.setSelectionRange(...selected);
    }
  };
}

export async function attempt(pressed, perform) {
  pressed.disabled = true;
  await tried(error, perform);
  pressed.disabled = false;
}

export const action = (label, perform, kind) =>
  button(label, ({ currentTarget }) => attempt(currentTarget, perform), { class: kind, "data-action": label });

/** The same for what cannot be undone. */
export const dangerousAction = (label, question, perform) => confirmButton(label, question, (pressed) => attempt(pressed, perform));

export function section(title, ...content) {
  const shown = content.flat(Infinity).filter(Boolean);
  return shown.length ? [make("h3", title), ...shown] : [];
}

export const folded = (title, isOpen, ...content) => make("details.folded", { "data-action": title, open: isOpen }, make("summary", title), content);

export const moments = (all) => make("ol.moments", all.map(([time, content, attributes = {}]) => make("li", attributes, time, make("div", content))));

export const moment = (time) => make("time", { datetime: time, title: time }, exactTime(time));

export const plain = (text) => (text ? make("pre", { tabindex: "0" }, text) : undefined);

export const qrCode = (text, label) => make("img.qr", { alt: label, src: qrURL(text) });
