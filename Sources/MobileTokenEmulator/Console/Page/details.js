import { $, confirmButton, make, pill } from "./dom.js";
import { qrURL } from "./server.js";

let shown = null;  // what is open: {key, render}

/**
 * Opens the drawer. `render()` gives `{title, status, body, actions}`, and is asked again when what `key` names has
 * changed.
 */
export function showDetails(key, render) {
  shown = { key, render };
  showError("");
  draw();
  $("details-body").scrollTop = 0;
  if (!$("details").open) $("details").showModal();
}

/** What is open, if anything. */
export const shownKey = () => ($("details").open ? shown?.key : undefined);

/** What is open follows what happens. */
export function refreshDetails(key) {
  if ($("details").open && shown?.key === key) draw();
}

function draw() {
  const kept = whatUserDid();
  const { title, status, body, actions = [] } = shown.render();
  $("details-title").replaceChildren(make("span", {}, title), " ", pill(...[status].flat()));
  $("details-body").replaceChildren(...body);
  $("details-actions").replaceChildren(...actions);
  restore(kept);
}

/** What has been typed and asked for, and where the focus is, by the names in `data-action`. */
function whatUserDid() {
  const dialog = $("details");
  return {
    key: shown.key,
    values: new Map([...dialog.querySelectorAll("input[data-action]")].map((input) => [input.dataset.action, input.value])),
    armed: dialog.querySelector(".armed")?.dataset.action,
    focused: dialog.contains(document.activeElement) ? document.activeElement.dataset.action : undefined,
  };
}

function restore({ key, values, armed, focused }) {
  const find = (name) => $("details").querySelector(`[data-action="${CSS.escape(name)}"]`);
  if (key === $("details").dataset.key) {
    for (const [name, value] of values) if (find(name)) find(name).value = value;
    if (armed) find(armed)?.arm();
    // The button that had the focus may have gone.
    if (focused) (find(focused) ?? $("details").querySelector(".close")).focus();
  }
  $("details").dataset.key = key;
}

const showError = (text) => { $("details").querySelector(".error").textContent = text; };

async function attempt(button, perform) {
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

/** A QR code on white, large enough for the camera of a phone. */
export const qrCode = (text, label) => make("img", { class: "qr", alt: label, src: qrURL(text) });
