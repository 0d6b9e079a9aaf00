// Small things every view needs. Data goes into the page as text, never as markup.

export const $ = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** Makes an element: `make("td", {class: "x"}, "text", child)`. */
export const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

/** Makes a part of a drawing. */
export const draw = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

/** A path or an address, whose lines end after slashes where there is no room. */
export const breakable = (text) => text.split(/(?<=\/)/).flatMap((part, index) => (index ? [make("wbr"), part] : [part]));

/** `PENDING_COMMIT` as people write it. */
export const worded = (name) => { const text = name.replaceAll("_", " "); return text[0] + text.slice(1).toLowerCase(); };

/** A status: quiet words beside a small dot; only what needs a look is red. */
export const status = (name, text = /^[A-Z_]+$/.test(name) ? worded(name) : name) =>
  make("span", { class: "status", "data-status": name }, text);

/** Names and values, texts or elements; empty ones are left out. A third element is `"code"`, or `"copy"` for code with a button. */
export function facts(pairs) {
  const list = make("dl", { class: "facts" });
  for (const [name, value, kind] of pairs) {
    if (value === undefined || value === null || value === "") continue;
    const text = make("span", kind ? { class: "mono" } : {}, value instanceof Node ? value : String(value));
    list.append(make("dt", {}, name), make("dd", {}, text, kind === "copy" ? copyButton(String(value), "Copy", name) : null));
  }
  return list;
}

/** `name` tells those who hear the page what is copied, where the label does not. */
export function copyButton(text, label = "Copy", name) {
  const button = make("button", { type: "button", class: "quiet copy", "aria-label": name && `${label}: ${name}` }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select it by hand";  // beyond loopback, a page without TLS has no clipboard
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
}

/** A command, and a button that copies all of it. */
export const command = (text, name) =>
  make("div", { class: "command" }, make("pre", { tabindex: "0", "aria-label": name && `Command: ${name}` }, text), copyButton(text, "Copy", name));

/** A button that acts at the second click: the first one asks. */
export function confirmButton(label, question, perform) {
  const button = make("button", { type: "button", class: "danger", "data-action": label }, label);
  const calm = () => { button.textContent = label; button.classList.remove("armed"); };
  button.addEventListener("blur", calm);
  button.arm = () => { button.textContent = question; button.classList.add("armed"); };
  button.addEventListener("click", () => {
    if (!button.classList.contains("armed")) return button.arm();
    calm();
    return perform(button);
  });
  return button;
}

let toastTimer;

/** Says for a moment that something has been done. */
export function toast(text) {
  $("toast").textContent = text;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { $("toast").textContent = ""; }, 3000);
}

/** For those who hear the page. */
export function announce(text) { $("announcement").textContent = text; }
