// Dialogs: the page has the fields of each; a head, a place for what goes wrong and buttons are added.

import "./lists.js";
import { $, make, tried } from "./dom.js";

for (const dialog of document.querySelectorAll("dialog[data-title]")) {
  const { title, second, value } = dialog.dataset;
  const id = `${dialog.id}-title`;
  dialog.setAttribute("aria-labelledby", id);
  dialog.append(make("form", { method: "dialog", autocomplete: "off", autocapitalize: "off", spellcheck: "false" },
    make("header", { role: "none" }, make("h2", { id }, title), make("button.quiet.close", { type: "button", "data-close": true, "aria-label": "Close" }, "×")),
    make("div.body", [...dialog.childNodes], make("p.error", { role: "alert" })),
    make("footer", make("button.primary", { type: "submit" }, "Create"),
      second && make("button", { type: "submit", value }, second), make("button", { type: "button", "data-close": true }, "Cancel"))));
}

/** `perform` gets the value of the button; when it succeeds, the dialog closes. */
export function onSubmit(dialog, perform) {
  dialog.querySelector("form").onsubmit = async (event) => {
    event.preventDefault();
    const buttons = dialog.querySelectorAll("[type=submit]");
    buttons.forEach((one) => { one.disabled = true; });
    if (await tried(dialog.querySelector(".error"), () => perform(event.submitter?.value))) dialog.close();
    buttons.forEach((one) => { one.disabled = false; });
  };
}

const preparations = new Map();

export function onOpen(dialog, prepare) { preparations.set(dialog, prepare); }

export function openDialog(dialog) {
  dialog.querySelector(".error").textContent = "";
  preparations.get(dialog)?.();
  dialog.showModal();
}

for (const one of document.querySelectorAll("[data-open]")) {
  const dialog = $(one.dataset.open);
  if (dialog) one.onclick = () => openDialog(dialog);
}
for (const one of document.querySelectorAll("[data-close]")) one.onclick = () => one.closest("dialog").close();
for (const dialog of document.querySelectorAll("dialog")) {
  // The dialog fills its box; what hits the dialog itself is the backdrop.
  dialog.onpointerdown = (event) => { if (event.target === dialog) dialog.close(); };
}
