// Requests a second as a line, the last request that was refused, and how many callbacks fail, in the head of the journal.

import { $, draw, make } from "./dom.js";
import { detailsLink } from "./details.js";
import { serverNow } from "./time.js";
import { reasonOf } from "./journal.js";
import { failingCallbacks } from "./callbacks.js";

const seconds = 60;
const [width, height] = [120, 22];
let known = [];

export function showPulse(entries = known) {
  known = entries;
  const now = serverNow();
  const counts = Array(seconds).fill(0);
  for (const { time } of entries) {
    const age = Math.floor((now - Date.parse(time)) / 1000);
    if (age >= seconds) break;
    counts[seconds - 1 - Math.max(0, age)] += 1;
  }
  const most = Math.max(1, ...counts);
  const points = counts.map((count, index) => `${(index * width / (seconds - 1)).toFixed(1)},${(height - 2 - count * (height - 4) / most).toFixed(1)}`).join(" ");
  const total = counts.reduce((sum, count) => sum + count, 0);
  $("pulse").replaceChildren(
    draw("svg.spark", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${total} requests in the last minute, at most ${total ? most : 0} a second` }, draw("polyline", { points })),
    make("span", total ? `${total}/min` : "quiet"));
  const refused = entries.slice(0, 200).find((entry) => !entry.isAccepted && entry.deliveryId === undefined);
  const failing = failingCallbacks();
  $("pulse-refused").replaceChildren(...(refused ? [make("span", "Last refused:"), detailsLink("journal", refused.id, reasonOf(refused) ?? String(refused.status))] : []),
    ...(failing ? [make("a.failing", { href: "#callbacks" }, `Callbacks failing: ${failing}`)] : []));
}

setInterval(() => { if (!document.hidden) showPulse(); }, 2000);
