// What is shown stands in the page's address, so that every view is a link, the keys for back and forward work, and a
// reload shows the same: `#operations/ID?operations.q=alice&journal.verdict=refused`.

import { offerApplications } from "./lists.js";
import { quietly } from "./server.js";

const fields = new Map([...document.querySelectorAll("[data-address]")]
  .map((field) => [`${field.closest("section").id}.${field.dataset.address}`, field]));
const views = new Set([...document.querySelectorAll("main > section")].map((section) => section.id));
/** Where kinds are looked at that have no view of their own name. */
const homes = { deliveries: "callbacks" };
const listeners = [];
const tell = () => { for (const listen of listeners) listen(); };

/** The view, and what is open above it: `kind/id`. */
export const address = { view: "operations", open: undefined };

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function read() {
  const [path, query = ""] = location.hash.slice(1).split("?", 2);
  const [name, id] = path.split("/", 2);
  const parameters = new URLSearchParams(query);
  const home = homes[name] ?? name;
  address.view = views.has(home) ? home : "operations";
  address.open = id ? `${views.has(home) ? name : address.view}/${decoded(id)}` : parameters.get("open") || undefined;
  for (const [name, field] of fields) {
    const value = parameters.get(name) ?? "";
    if (field.matches("[data-applications]")) offerApplications([value]);
    field.value = value;
  }
}

function written({ view, open }) {
  const parameters = new URLSearchParams();
  const [kind, id] = open ? split(open) : [];
  const path = kind === view || kind && homes[kind] === view ? `${kind}/${encodeURIComponent(id)}` : view;
  if (open && path === view) parameters.set("open", open);
  for (const [name, field] of fields) if (field.value) parameters.set(name, field.value);
  const query = parameters.toString();
  return `#${path}${query ? `?${query}` : ""}`;
}

export function split(open) {
  const slash = open.indexOf("/");
  return [open.slice(0, slash), open.slice(slash + 1)];
}

export const addressOf = (kind, id) => written({ ...address, open: `${kind}/${id}` });

export const addressOfFiltered = (view, q) => `#${view}?${new URLSearchParams({ [`${view}.q`]: q })}`;

export function go(change, { replace = false } = {}) {
  Object.assign(address, change);
  const fragment = written(address);
  if (fragment !== location.hash) history[replace ? "replaceState" : "pushState"](null, "", fragment);
  tell();
}

export function onAddress(listen) { listeners.push(listen); }

/** For views of which no event tells. */
export function onView(view, load) {
  let before;
  onAddress(() => {
    if (address.view === view && before !== view) quietly(load());
    before = address.view;
  });
}

for (const field of fields.values()) field.oninput = () => go({}, { replace: true });
addEventListener("popstate", () => {
  read();
  tell();
});
read();
