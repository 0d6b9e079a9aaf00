// The addresses of the bank's that are told, and how they do.

import { $, breakable, button, confirmButton, make, status, toast, tried, worded } from "./dom.js";
import { timeOf } from "./time.js";
import { ask } from "./server.js";
import { onView } from "./address.js";
import { onSubmit } from "./dialogs.js";
import { deliveries } from "./deliveries.js";

let known = [];
let health = new Map();  // by callback: what became of its deliveries
let drawn;

export async function loadCallbacks() {
  known = (await ask("callbacks")).items;
  show();
}

/** How many fail at present: the last delivery of each tells. */
export const failingCallbacks = () => known.filter((one) => health.get(one.callbackId)?.since).length;

/** `since` is the first of those that have failed in a row. */
function judge() {
  health = new Map();
  for (const { callbackId, attempts, failure, created } of deliveries.items.values()) {
    if (!callbackId || !attempts) continue;
    const { count, failed, since } = health.get(callbackId) ?? { count: 0, failed: 0 };
    health.set(callbackId, { count: count + 1, failed: failed + (failure ? 1 : 0), since: failure && (since ?? created) });
  }
}

/** Only a change is drawn: somebody may be about to press a button. */
function show() {
  judge();
  const state = JSON.stringify([known, [...health]]);
  if (state === drawn) return;
  drawn = state;
  $("callbacks-list").replaceChildren(...known.map(row));
  $("callbacks-none").hidden = known.length > 0;
}

function row({ isPaused, ...item }) {
  const path = encodeURIComponent(item.callbackId);
  const label = isPaused ? "Resume" : "Pause";
  const { count, failed, since } = health.get(item.callbackId) ?? {};
  const state = isPaused ? "paused" : since ? "failing" : "active";
  const act = (name, perform) => button(name, perform, { "aria-label": `${name} ${item.name}` });
  const send = (way, done) => tried($("callbacks-error"), () => ask(`callbacks/${path}/${way}`, {}, "POST"), done);
  const kind = item.type.startsWith("OPERATION") ? "operations" : "activations";
  const change = async (done, ...request) => { await tried($("callbacks-error"), () => ask(...request), done); await loadCallbacks(); };
  return make("li", { class: isPaused && "paused" },
    make("div", make("b", item.name), " ", status(state, state === "failing" ? `failing since ${timeOf(since)}, ${failed} of ${count} failed` : worded(state)),
      make("p.mono", breakable(item.callbackUrl)),
      make("p.hint", [`tells of ${kind} of ${item.appId}`, item.attributes.join(", "), item.maxAttempts > 1 && `${item.maxAttempts} attempts`].filter(Boolean).join(" · "))),
    make("div.buttons",
      act(label, () => change(`${label}d`, `callbacks/${path}`, { isPaused: !isPaused }, "PUT")),
      failed > 0 && act("Resend failed", () => send("resend", "Sent again")),
      act("Send test", () => send("test", "A test is sent")),
      confirmButton("Remove", "Remove for good?", () => change("Removed", `cloud/callbacks/${path}`, undefined, "DELETE"))));
}

onSubmit($("new-callback"), async () => {
  await ask("cloud/callbacks", {
    name: $("callback-name").value.trim() || "callback", type: $("callback-type").value, callbackUrl: $("callback-url").value.trim(),
    appId: $("callback-application").value || undefined,
    attributes: $("callback-attributes").value.split(/[\s,]+/).filter(Boolean), maxAttempts: Number($("callback-attempts").value) || 1,
  });
  toast("Callback created");
  await loadCallbacks();
});

onView("callbacks", loadCallbacks);

deliveries.onShow = show;
