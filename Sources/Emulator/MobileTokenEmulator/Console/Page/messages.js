import { $, facts, make, status, toast } from "./dom.js";
import { ago, dateOf } from "./time.js";
import { ask } from "./server.js";
import { Collection } from "./collection.js";
import { defineDetails } from "./details.js";
import { onSubmit } from "./dialogs.js";

export const messages = new Collection("messages", (item) => make("div.message",
  status(item.status), make("span.main", item.subject), make("span.sub", item.userId), make("span.muted.wide-cell", item.summary),
  ago(item.timestamp, { class: "number time" })),
(item) => `${item.subject}: ${item.status}`);

messages.prepared = (item) => ({ ...item, status: item.read ? "READ" : "UNREAD" });

defineDetails("messages", (id) => ({
  prepare: () => messages.need(id),
  render: () => {
    const item = messages.find(id);
    return {
      title: item.subject,
      status: item.status,
      body: [
        facts([["User", item.userId], ["Summary", item.summary], ["Type", item.type], ["Created", dateOf(item.timestamp)], ["Identifier", item.id, "copy"]]),
        make("h3", "Body"),
        make("pre", { class: item.type !== "html" && "prose", tabindex: "0" }, item.body),  // HTML is shown as its source
      ],
    };
  },
}));

onSubmit($("new-message"), async () => {
  const body = $("message-body").value;
  await ask("cloud/inbox/messages", {
    userId: $("message-user").value.trim(), subject: $("message-subject").value,
    summary: $("message-summary").value || body.trim().split("\n")[0].slice(0, 200), body, type: $("message-type").value,
  });
  for (const id of ["message-subject", "message-summary", "message-body"]) $(id).value = "";
  toast("Message created");
});
