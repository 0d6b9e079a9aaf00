// The description of the APIs can be read without this: it filters, copies, and makes calls.

import { $, copyButton, make, pretty } from "./dom.js";

// The page's address may carry credentials; no request may be made for such a one, and the browser adds them anyway.
const root = new URL("./", document.baseURI);
root.username = root.password = root.hash = root.search = "";

const routes = [...document.querySelectorAll(".route")];
const words = new Map(routes.map((one) => [one, one.querySelector("summary").textContent.toLowerCase()]));
let credentials = "";

/** The names in braces of a path. */
const placeholders = (path) => [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name);

/** A form that makes the call: through the relay where there is one, which needs no credentials. */
function trial(route) {
  const { method, path, relay, body, try: way } = route.dataset;
  const needsCredentials = way === "credentials" && !relay;
  const field = (name, label, attributes = {}) => make("label", label, make("input", { name, autocomplete: "off", spellcheck: "false", autocapitalize: "off", ...attributes }));
  const text = body === undefined ? null : make("textarea", { name: "body", rows: Math.min(14, body.split("\n").length + 1), spellcheck: "false" });
  if (text) text.value = body;
  const names = placeholders(path);
  const result = make("div", { role: "status" });
  const form = make("form.try",
    make("h3", "Try it"),
    needsCredentials ? field("credentials", "Credentials of the cloud API, USER:PASSWORD", { type: "password", placeholder: "developer:…", required: true, value: credentials }) : null,
    names.map((name) => field(name, name, { required: true })),
    method === "GET" ? field("query", "Query", { placeholder: "name=value&…" }) : null,
    text ? make("label", "Body", text) : null,
    make("div.buttons", make("button", { type: "submit", class: "primary" }, "Send"), relay ? make("span.hint", "With the server’s own credentials.") : null),
    result);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const filled = names.reduce((address, name) => address.replace(`{${name}}`, encodeURIComponent(form.elements[name].value)), relay ?? path);
    const address = new URL(`.${filled}`, root);
    if (form.elements.query) address.search = form.elements.query.value;
    const headers = text ? { "Content-Type": "application/json" } : {};
    if (needsCredentials) {
      credentials = form.elements.credentials.value;
      headers.Authorization = `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(credentials)))}`;
    }
    result.textContent = "…";
    try {
      const start = performance.now();
      const response = await fetch(address, { method, headers, body: text?.value });
      const content = pretty(await response.text());
      result.replaceChildren(make("p", { class: response.ok ? "" : "bad" }, `${response.status} in ${Math.round(performance.now() - start)} ms`), make("pre", { tabindex: "0" }, content || "(no body)"));
    } catch (failure) {
      result.replaceChildren(make("p.bad", `No response. ${failure.message}`));
    }
  });
  return form;
}

for (const route of routes) {
  route.addEventListener("toggle", () => {
    if (!route.open || route.dataset.isReady) return;
    route.dataset.isReady = "yes";
    const command = route.querySelector(".curl");
    command?.after(copyButton(command.textContent, "Copy"), route.dataset.try ? trial(route) : make("p.hint", "Made by a device or a stream: a virtual device makes such calls."));
  });
}

$("filter").hidden = false;
$("filter").oninput = () => {
  const wanted = $("filter").value.toLowerCase().split(/\s+/);
  for (const [route, known] of words) route.hidden = !wanted.every((word) => known.includes(word));
  for (const area of document.querySelectorAll(".area")) area.hidden = !area.querySelector(".route:not([hidden])");
  $("empty").hidden = routes.some((route) => !route.hidden);
};
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, textarea")) return;
  event.preventDefault();
  $("filter").focus();
});

/** A link to a call opens it. */
function openLinked() {
  const linked = document.getElementById(location.hash.slice(1));
  if (linked?.matches("details")) linked.open = true;
  linked?.scrollIntoView();
}
addEventListener("hashchange", openLinked);
openLinked();
document.body.dataset.state = "ready";
