// The description of the APIs: the server's own OpenAPI document, laid out for people.

import { quoted } from "./curl.js";
import { $, copyButton, make } from "./dom.js";

// The page's address may carry credentials; no request may be made for such a one, and the browser adds them anyway.
const address = new URL("openapi.json", document.baseURI);
address.username = address.password = "";
const description = await (await fetch(address)).json();
const routes = [];

/** The schema behind a reference, and the name it has. */
function resolved(schema) {
  const name = schema?.$ref?.split("/").pop();
  return name ? { ...resolved(description.components.schemas[name]), title: name } : schema ?? {};
}

/** A type in a few words. */
function typeOf(schema) {
  const choice = schema.oneOf?.find((one) => one.$ref);
  if (choice) return typeOf(choice);
  const { type, title, items, enum: values, format, minimum, maximum } = resolved(schema);
  if (values) return values.filter((value) => value !== null).join(" | ");
  const name = [type].flat().filter((one) => one !== "null").join(" or ");
  if (name === "array") return `list of ${typeOf(items)}`;
  if (title) return title;
  if (format) return `${name}, ${format}`;
  const bounds = minimum !== undefined && maximum !== undefined ? ` ${minimum} to ${maximum}` : "";
  return name ? name + bounds : "anything";
}

/** The form behind an optional or a listed one. */
const objectOf = (schema) => {
  const form = resolved(schema.oneOf?.find((one) => one.$ref) ?? schema);
  return form.items ? objectOf(form.items) : form;
};

function memberRows(schema, prefix = "", known = new Set()) {
  const form = objectOf(schema);
  if (known.has(form.title)) return [];
  return Object.entries(form.properties ?? {}).flatMap(([name, member]) => [
    row(prefix + name, member, form.required?.includes(name), prefix !== ""),
    ...memberRows(member, `${prefix}${name}.`, form.title ? new Set([...known, form.title]) : known),
  ]);
}

function row(name, schema, isNeeded, isInner) {
  return make("tr", isInner ? { class: "inner" } : {},
    make("td", {}, make("code", {}, name), isNeeded ? make("span", { class: "needed", title: "required" }, " *") : null),
    make("td", {}, typeOf(schema)),
    make("td", { class: "muted" }, schema.description ?? ""));
}

function table(title, rows) {
  if (rows.length === 0) return [];
  const head = make("tr", {}, ...["Name", "Type", ""].map((name) => make("th", { scope: "col" }, name)));
  return [make("h3", {}, title), make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows))];
}

/** A value of this form, as an example. */
function example(schema, depth = 0) {
  const choice = schema.oneOf?.find((one) => one.$ref) ?? schema;
  const { type, properties, required = [], items, enum: values, minimum } = resolved(choice);
  if (values) return values[0];
  switch ([type].flat()[0]) {
    case "object":
      return Object.fromEntries(Object.entries(properties ?? {})
        .filter(([name]) => required.includes(name) && depth < 6)
        .map(([name, member]) => [name, example(member, depth + 1)]));
    case "array": return [];
    case "integer": case "number": return minimum ?? 0;
    case "boolean": return true;
    default: return "string";
  }
}

/** The call as a command; what stands in braces is to be filled in. */
function command(method, path, operation) {
  const lines = [`curl -X ${method} ${quoted(new URL(`.${path}`, location.origin + "/").href)}`];
  if (operation.security?.some((way) => way.credentials)) lines.push("  -u developer:PASSWORD");
  const body = operation.requestBody?.content["application/json"]?.schema;
  if (body) lines.push("  -H 'Content-Type: application/json'", `  -d ${quoted(JSON.stringify(example(body)))}`);
  return lines.join(" \\\n");
}

function access(operation) {
  const ways = (operation.security ?? []).map((way) => Object.keys(way)[0]);
  if (ways.length === 0) return "Anyone may call it.";
  if (ways.includes(undefined)) return "On this machine anyone may call it; others show the credentials of the cloud API.";
  return description.components.securitySchemes[ways[0]].description;
}

function responses(operation) {
  const rows = Object.entries(operation.responses).map(([status, { description: meaning, content }]) => {
    const [type, form] = Object.entries(content ?? {})[0] ?? ["no body"];
    return make("tr", {}, make("td", {}, make("code", {}, status)),
      make("td", {}, form?.schema ? typeOf(form.schema) : type), make("td", { class: "muted" }, meaning));
  });
  const head = make("tr", {}, ...["Status", "Body", ""].map((name) => make("th", { scope: "col" }, name)));
  return [make("h3", {}, "Responses"), make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows))];
}

/** What a route takes and gives; made when it is opened, for there are more than a hundred. */
function content(method, path, operation) {
  const body = operation.requestBody?.content["application/json"]?.schema;
  const result = Object.entries(operation.responses).find(([status]) => status < 400)?.[1];
  const given = result?.content?.["application/json"]?.schema;
  const parameters = (operation.parameters ?? []).map((one) =>
    row(one.name, { ...one.schema, description: one.description ?? "in the path" }, one.required));
  const call = command(method, path, operation);
  return make("div", { class: "content" },
    make("p", { class: "hint" }, [operation.description, access(operation)].filter(Boolean).join(" ")),
    ...table("Parameters", parameters),
    ...(body ? table(operation.requestBody.required ? "Body" : "Body, which may be left out", memberRows(body)) : []),
    ...(given ? table("Gives", memberRows(given)) : []),
    ...responses(operation),
    make("h3", {}, "Try it"), make("pre", {}, call), make("div", { class: "buttons" }, copyButton(call, "Copy")));
}

/** Where a bank's backend could take a call for PowerAuth Cloud's. */
const isOurs = (operation) => operation["x-origin"] === "this server" && operation.tags.includes("Cloud API");

function show(method, path, operation) {
  const details = make("details", { class: "route", id: operation.operationId },
    make("summary", {}, make("span", { class: `method ${method}` }, method), make("code", {}, path),
      make("span", { class: "hint" }, operation.summary, isOurs(operation) ? " · this server alone" : "")));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(content(method, path, operation));
  });
  routes.push({ details, words: `${method} ${path} ${operation.summary}`.toLowerCase() });
  return details;
}

for (const [index, { name, description: purpose }] of description.tags.entries()) {
  const area = make("section", { class: "area", id: `area-${index}`, "aria-label": name },
    make("h2", {}, name), make("p", { class: "hint" }, purpose));
  for (const [path, operations] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (operation.tags.includes(name)) area.append(show(method.toUpperCase(), path, operation));
    }
  }
  $("routes").append(area);
  $("areas").append(make("li", {}, make("a", { href: `#area-${index}` }, name)));
}
$("introduction").textContent = description.info.description;

$("filter").addEventListener("input", () => {
  const words = $("filter").value.toLowerCase().split(/\s+/);
  for (const { details, words: known } of routes) details.hidden = !words.every((word) => known.includes(word));
  for (const area of document.querySelectorAll(".area")) {
    area.hidden = ![...area.querySelectorAll("details")].some((one) => !one.hidden);
  }
  $("empty").hidden = routes.some(({ details }) => !details.hidden);
});
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input")) return;
  event.preventDefault();
  $("filter").focus();
});

/** A link to a route opens it. */
function openLinked() {
  const linked = document.getElementById(location.hash.slice(1));
  if (linked?.matches("details")) linked.open = true;
  linked?.scrollIntoView();
}
addEventListener("hashchange", openLinked);
openLinked();
document.body.dataset.state = "ready";
