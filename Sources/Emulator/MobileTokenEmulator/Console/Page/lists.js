// What stands above each list. Made before anything looks for it.

import { make, worded } from "./dom.js";

const lists = {
  operations: {
    filter: "amount, account, user", choices: ["All statuses", "PENDING", "APPROVED", "REJECTED", "CANCELED", "EXPIRED", "FAILED"], canCreate: true,
    row: "operation", columns: ["Status", "What for", "User", "Note", "#When"], hasGuide: true,
  },
  activations: {
    filter: "user, device, application", choices: ["All statuses", "CREATED", "PENDING_COMMIT", "ACTIVE", "BLOCKED", "REMOVED"], canCreate: true,
    row: "activation", columns: ["Status", "User", "Device", "Application", "#Counter", "#Failed attempts", "#Created"],
  },
  messages: {
    filter: "subject, user, text", choices: ["Read and unread", "UNREAD", "READ"], canCreate: true,
    row: "message", columns: ["Status", "Subject", "User", "Summary", "#Created"],
  },
  pushes: {
    filter: "text, user, platform", choices: ["All kinds", "operationInit", "operationFinished", "inboxMessage.new", "statusChange"],
    row: "push", columns: ["Kind", "Text", "User", "Platform", "#Created"],
  },
  deliveries: {
    filter: "operation, user, address, outcome", choices: ["All states", "waiting", "underWay", "delivered", "failed"],
    label: "What was sent", row: "delivery", columns: ["State", "News", "User → callback", "Outcome", "#Created"],
  },
  templates: { filter: "name, title, parameter", canCreate: true, row: "template", columns: ["Title", "Name", "Parameters", "#Lifetime"] },
};

for (const place of document.querySelectorAll("[data-list]")) {
  const name = place.dataset.list;
  const { filter, choices, canCreate, row, columns, label, hasGuide } = lists[name];
  const title = place.closest("section").querySelector("h1").textContent;
  place[place.matches("section") ? "append" : "replaceWith"](
    make("div.bar",
      make("input", { type: "search", id: `${name}-filter`, "data-address": "q", placeholder: `Filter by ${filter}…`, "aria-label": `Filter ${name}`, "aria-keyshortcuts": "/" }),
      choices && make("select", { id: `${name}-status`, "data-address": "status", "aria-label": columns[0] },
        choices.map((one, index) => make("option", { value: index ? one : "" }, index ? worded(one) : one))),
      canCreate && make("button.primary", { "data-open": `new-${row}`, "aria-keyshortcuts": "n" }, `New ${row}`)),
    make("div.frame", { id: `${name}-frame` },
      make("div", { class: `head ${row}`, "aria-hidden": "true" }, columns.map((one) => make("span", { class: one.startsWith("#") && "number" }, one.replace("#", "")))),
      make("div.list", { id: `${name}-list`, "aria-label": label ?? title }),
      hasGuide ? null : make("div.empty", { hidden: true })),
    make("p.shown", { id: `${name}-shown`, role: "status" }));
}
