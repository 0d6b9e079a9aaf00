// What stands above each list. Made before anything looks for it.

import { make, worded } from "./dom.js";

const lists = {
  operations: {
    filter: "amount, account, user", choices: ["All statuses", "PENDING", "APPROVED", "REJECTED", "CANCELED", "EXPIRED", "FAILED"], canCreate: true,
    row: "operation", columns: ["Status", "What for", "User", "Note", "@Application", "#When"], hasGuide: true, hasApplication: true,
  },
  activations: {
    filter: "user, device, application", choices: ["All statuses", "CREATED", "PENDING_COMMIT", "ACTIVE", "BLOCKED", "REMOVED"], canCreate: true,
    row: "activation", columns: ["Status", "User", "Device", "Application", "#Counter", "#Failed attempts", "#Created"], hasApplication: true,
  },
  messages: {
    filter: "subject, user, text", choices: ["Read and unread", "UNREAD", "READ"], canCreate: true,
    row: "message", columns: ["Status", "Subject", "User", "Summary", "#Created"],
  },
  pushes: {
    filter: "text, user, platform", choices: ["All kinds", "operationInit", "operationFinished", "inboxMessage.new", "statusChange"],
    row: "push", columns: ["Kind", "Text", "User", "Platform", "#Created"], hasApplication: true,
  },
  deliveries: {
    filter: "operation, user, address, outcome", choices: ["All states", "waiting", "underWay", "delivered", "failed"],
    label: "What was sent", row: "delivery", columns: ["State", "News", "User → callback", "Outcome", "#Created"], hasApplication: true,
  },
  templates: { filter: "name, title, parameter", canCreate: true, row: "template", columns: ["Title", "Name", "Parameters", "#Lifetime"] },
};

for (const place of document.querySelectorAll("[data-list]")) {
  const name = place.dataset.list;
  const { filter, choices, canCreate, row, columns, label, hasGuide, hasApplication } = lists[name];
  const title = place.closest("section").querySelector("h1").textContent;
  place[place.matches("section") ? "append" : "replaceWith"](
    make("div.bar",
      make("input", { type: "search", id: `${name}-filter`, "data-address": "q", placeholder: `Filter by ${filter}…`, "aria-label": `Filter ${name}`, "aria-keyshortcuts": "/" }),
      choices && make("select", { id: `${name}-status`, "data-address": "status", "aria-label": columns[0] },
        choices.map((one, index) => make("option", { value: index ? one : "" }, index ? worded(one) : one))),
      hasApplication && make("select", { id: `${name}-application`, "data-address": "application", "data-applications": "All applications", "aria-label": "Application", hidden: true }),
      canCreate && make("button.primary", { "data-open": `new-${row}`, "aria-keyshortcuts": "n" }, `New ${row}`)),
    make("div.frame", { id: `${name}-frame` },
      make("div", { class: `head ${row}`, "aria-hidden": "true" }, columns.map((one) => make("span", { class: { "#": "number", "@": "application" }[one[0]] }, one.replace(/[#@]/, "")))),
      make("div.list", { id: `${name}-list`, "aria-label": label ?? title }),
      hasGuide ? null : make("div.empty", { hidden: true })),
    make("p.shown", { id: `${name}-shown`, role: "status" }));
}

let applications = [];

/** Where there are several, each view lets one be chosen, and each form says of which one it makes something: first the server's own. */
export function offerApplications(ids, isAll = false) {
  const all = [...new Set(isAll ? [...ids, ...applications] : [...applications, ...ids])].filter(Boolean);
  if (all.join() === applications.join()) return;
  applications = all;
  document.body.toggleAttribute("data-several", all.length > 1);
  for (const field of document.querySelectorAll("[data-applications]")) {
    const { value } = field;
    const any = field.dataset.applications;
    field.replaceChildren(...(any ? [make("option", { value: "" }, any)] : []), ...all.map((id) => make("option", { value: id }, id)));
    field.value = all.includes(value) && (any || !isAll) ? value : field.options[0].value;
    (field.closest("label") ?? field).hidden = all.length < 2;
  }
}
