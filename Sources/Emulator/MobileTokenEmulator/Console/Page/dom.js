// Small things every view needs. Data goes into the page as text, never as markup.

export const $ = (id) => document.getElementById(id);

const isShown = (child) => child !== undefined && child !== null && child !== false && child !== "";

function fill(create, name, content) {
  const [tag, ...classes] = name.split(".");
  const element = create(tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  const attributes = content[0]?.constructor === Object ? content.shift() : {};
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...content.flat(Infinity).filter(isShown));
  return element;
}

/** Makes an element: `make("td.number", { title: "x" }, "text", child)`; what there is nothing of is left out. */
export const make = (name, ...content) => fill((tag) => document.createElement(tag), name, content);

export const draw = (name, ...content) => fill((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag), name, content);

export const button = (label, perform, attributes = {}) => make("button", { type: "button", onclick: perform, ...attributes }, label);

/** Texts, or pairs of a value and its text. */
export const options = (all, chosen) => all.map((one) => {
  const [value, text] = [one].flat();
  return make("option", { value, selected: value === chosen }, text ?? value);
});

export const choice = (all, chosen, attributes) => make("select", attributes, options(all, chosen));

export const joined = (parts, between) => parts.flatMap((part, index) => (index ? [between, part] : [part]));

/** An address whose lines end after slashes. */
export const breakable = (text) => text.split(/(?<=\/)/).flatMap((part, index) => (index ? [make("wbr"), part] : [part]));

/** `PENDING_COMMIT` and `underWay` as people write them. */
export function worded(name) {
  if (!/^([A-Z_]+|[a-z]+|underWay)$/.test(name)) return name;
  const text = name.replace(/_|(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
  return capitalized(text);
}

export const capitalized = (text) => text[0].toUpperCase() + text.slice(1);

/** A failure without the code of its kind, which is for programs. */
export const plainly = (failure) => failure?.replace(/^[a-z]+[A-Z]\w*: /, "");

const tones = Object.entries({
  good: "APPROVED ACTIVE accepted delivered active", open: "PENDING CREATED PENDING_COMMIT UNREAD waiting underWay", bad: "FAILED BLOCKED refused failed failing", warn: "paused",
});

/** JSON on several lines; anything else as it is. */
export function pretty(text) {
  try {
    // What a script reads as a number it may round: 100.00, or an amount of twenty digits.
    const exact = (key, value, context) => (typeof value === "number" && JSON.rawJSON ? JSON.rawJSON(context.source) : value);
    return JSON.stringify(JSON.parse(text, exact), null, 2);
  } catch {
    return text;
  }
}

/** A status: quiet words beside a small dot; only what needs a look is red. */
export const status = (name, text = worded(name)) =>
  make("span", { class: `status ${tones.find(([, names]) => names.split(" ").includes(name))?.[0] ?? ""}`, "data-status": name }, text);

/** Names and values; empty ones are left out. A third element is `"code"`, or `"copy"` for code with a button. */
export const facts = (pairs) => make("dl.facts", pairs.filter(([, value]) => isShown(value)).map(([name, value, kind]) => [
  make("dt", name),
  make("dd", make("span", { class: kind && "mono" }, value instanceof Node ? value : String(value)), kind === "copy" && copyButton(String(value), "Copy", name)),
]));

/** `name` tells those who hear the page what is copied, where the label does not. */
export const copyButton = (text, label = "Copy", name) => button(label, async ({ currentTarget }) => {
  try {
    await navigator.clipboard.writeText(text);
    currentTarget.textContent = "Copied";
  } catch {
    currentTarget.textContent = "Select it by hand";  // beyond loopback, a page without TLS has no clipboard
  }
  setTimeout(() => { currentTarget.textContent = label; }, 1500);
}, { class: "quiet copy", "aria-label": name && `${label}: ${name}` });

export const command = (text, name) =>
  make("div.command", make("pre", { tabindex: "0", "aria-label": name && `Command: ${name}` }, text), copyButton(text, "Copy", name));

/** A button that acts at the second click: the first one asks. */
export function confirmButton(label, question, perform) {
  const calm = () => { made.textContent = label; made.classList.remove("armed"); };
  const made = button(label, () => {
    if (!made.classList.contains("armed")) return made.arm();
    calm();
    return perform(made);
  }, { class: "danger", "data-action": label, onblur: calm });
  made.arm = () => { made.textContent = question; made.classList.add("armed"); };
  return made;
}

/** Says in `error` what goes wrong. */
export async function tried(error, perform, done) {
  error.textContent = "";
  try {
    await perform();
  } catch (failure) {
    error.textContent = failure.message;
    return false;
  }
  if (done) toast(done);
  return true;
}

/** A number with thin spaces between its thousands. */
export const spaced = (number) => number.toLocaleString("en").replaceAll(",", "\u2009");

export const showTotal = (view, count) => { $(`tab-${view}`).querySelector(".count").textContent = count ? spaced(count) : ""; };

let toastTimer;

export function toast(text) {
  $("toast").textContent = text;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { $("toast").textContent = ""; }, 3000);
}

/** For those who hear the page. */
export function announce(text) { $("announcement").textContent = text; }
