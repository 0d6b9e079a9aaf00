import { $ } from "./dom.js";

/** Calls `perform(value)` with the value of the button that submitted, and closes the dialog when it succeeds. */
export function onSubmit(dialog, perform) {
  const form = dialog.querySelector("form");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const error = dialog.querySelector(".error");
    error.textContent = "";
    const buttons = form.querySelectorAll("[type=submit]");
    buttons.forEach((button) => { button.disabled = true; });
    try {
      await perform(event.submitter?.value);
      dialog.close();
    } catch (failure) {
      error.textContent = failure.message;
    } finally {
      buttons.forEach((button) => { button.disabled = false; });
    }
  });
}

const preparations = new Map();

/** Calls `prepare()` before the dialog opens. */
export function onOpen(dialog, prepare) { preparations.set(dialog, prepare); }

export function openDialog(dialog) {
  dialog.querySelector(".error").textContent = "";
  preparations.get(dialog)?.();
  dialog.showModal();
}

for (const button of document.querySelectorAll("[data-open]")) {
  button.addEventListener("click", () => openDialog($(button.dataset.open)));
}
for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}
for (const dialog of document.querySelectorAll("dialog")) {
  // The dialog fills its box; what hits the dialog itself is the backdrop.
  dialog.addEventListener("pointerdown", (event) => { if (event.target === dialog) dialog.close(); });
}
