import { facts, make, pretty, status } from "./dom.js";
import { ago, dateOf } from "./time.js";
import { Collection } from "./collection.js";
import { activationName, activations } from "./activations.js";
import { defineDetails, detailsLink, plain, section } from "./details.js";

export const pushes = new Collection("pushes", (item) => make("div.push",
  status(item.status), make("span.main", item.title), make("span.sub", item.userId), make("span.muted.wide-cell", item.platform),
  ago(item.created, { class: "number time" })),
(item) => `${item.title}: ${item.status}`);

pushes.applicationOf = (item) => activations.find(item.activationId)?.applicationId;
pushes.prepared = (item) => {
  const payload = JSON.parse(item.payload);
  const { title, body } = payload.aps?.alert ?? {};
  const text = [title, body].filter(Boolean).join(": ") || payload.mtokenOperationResult || activationName(item.activationId);
  return { ...item, id: String(item.id), status: item.type.replace("mtoken.", ""), title: text, operationId: payload.operationId ?? payload.mtokenOperationId };
};

defineDetails("pushes", (id) => ({
  prepare: () => pushes.need(id),
  render: () => {
    const item = pushes.find(id);
    return {
      title: item.title,
      status: item.status,
      body: [
        facts([
          ["User", item.userId], ["Device", detailsLink("activations", item.activationId, activationName(item.activationId))],
          ["Operation", item.operationId && detailsLink("operations", item.operationId, item.operationId)],
          ["Platform", item.platform], ["Environment", item.environment],
          ["Token", item.token, "copy"], ["Created", dateOf(item.created)], ["Number", item.id],
        ]),
        section("What the device gets", plain(pretty(item.payload))),
      ],
    };
  },
}));
