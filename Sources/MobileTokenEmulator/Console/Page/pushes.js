import { $, dateOf, facts, make, pill, timeOf } from "./dom.js";
import { VirtualList } from "./virtual-list.js";
import { Collection } from "./collection.js";
import { activationName } from "./activations.js";
import { showDetails } from "./details.js";

export const pushes = new Collection("pushes", new VirtualList($("pushes-list"), {
  key: (item) => item.id,
  open: (item) => showPush(item.id),
  render: (item) => make("div", { class: "push" },
    pill(item.status),
    make("span", { class: "main" }, item.title),
    make("span", { class: "sub" }, item.userID),
    make("span", { class: "muted wide-cell" }, item.platform),
    make("span", { class: "number time" }, timeOf(item.created))),
}), { describe: (item) => `${item.title}: ${item.status}` });

pushes.prepared = (item) => {
  const payload = JSON.parse(item.payload);
  const { title, body } = payload.aps?.alert ?? {};
  const text = [title, body].filter(Boolean).join(": ");
  return { ...item, status: item.type.replace("mtoken.", ""), title: text || payload.mtokenOperationResult || activationName(item.activationID) };
};

function showPush(id) {
  showDetails(`pushes/${id}`, () => {
    const item = pushes.items.get(id);
    return {
      title: item.title,
      status: item.status,
      body: [
        facts([
          ["User", item.userID], ["Device", activationName(item.activationID)], ["Platform", item.platform], ["Environment", item.environment],
          ["Token", item.token, "copy"], ["Created", dateOf(item.created)],
        ]),
        make("h3", {}, "What the device gets"),
        make("pre", {}, JSON.stringify(JSON.parse(item.payload), null, 2)),
      ],
    };
  });
}
