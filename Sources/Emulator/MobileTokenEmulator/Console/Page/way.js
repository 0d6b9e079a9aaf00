// The way of one operation as a picture: five stations, the time between them, and refused attempts as branches.

import { draw } from "./dom.js";
import { span } from "./time.js";
import { isRefused, reasonOf } from "./life.js";

const radius = 9;

/** `{name, note, state, time}`, the state being done, now, bad, later or none. */
function stations(item, moments, deliveries) {
  const first = (...kinds) => moments.find((one) => kinds.includes(one.kind));
  const created = first("created");
  const shown = first("shown", "opened", "claimed", "offlineCodeMade") ?? moments.find(isRefused);
  const signed = first("approved", "rejected");
  const ended = item.status !== "PENDING";
  const delivery = ended ? deliveries[0] : undefined;
  return [
    { name: "Bank", note: "asks", state: "done", time: created.time },
    { name: "Server", note: "keeps it", state: "done", time: created.time },
    { name: "Phone", note: shown ? "shown" : ended ? "never saw it" : "not yet seen", state: shown ? "done" : ended ? "none" : "now", time: shown?.time },
    {
      name: "Signature", note: ended ? item.status.toLowerCase() : shown ? "waiting" : "", time: signed?.time,
      state: item.status === "FAILED" ? "bad" : signed ? "done" : ended ? "none" : shown ? "now" : "later",
    },
    {
      name: "Callback", time: delivery && signed ? delivery.last : undefined,
      note: !delivery ? (deliveries.length ? "waiting" : "none set up") : delivery.state === "failed" ? "failed" : delivery.state === "delivered" ? "delivered" : "on its way",
      state: !delivery ? (deliveries.length ? "later" : "none") : { failed: "bad", delivered: "done" }[delivery.state] ?? "now",
    },
  ];
}

const label = (x, y, kind, content, anchor) => draw("text", { x, y, class: kind, "text-anchor": anchor }, content);

function mark(x, y, { state }) {
  const drawing = [draw("circle", { cx: x, cy: y, r: radius })];
  if (state === "done") drawing.push(draw("path", { d: `M${x - 4} ${y}l3 3 5-6`, class: "tick" }));
  if (state === "bad") drawing.push(draw("path", { d: `M${x - 3.5} ${y - 3.5}l7 7m0-7l-7 7`, class: "tick" }));
  return drawing;
}

const shortened = (words, count) => (words.length > count ? `${words.slice(0, count - 1)}…` : words);

/** `deliveries` are the operation's, newest first. On a narrow page the stations stand below each other. */
export function way(item, moments, deliveries, isNarrow) {
  const all = stations(item, moments, deliveries);
  const refused = moments.filter(isRefused);
  const [across, down] = isNarrow ? [0, 58] : [130, 0];
  const place = (index) => (isNarrow ? [20, 22 + index * down] : [52 + index * across, 44]);
  const parts = [];
  for (const [index, station] of all.entries()) {
    const [x, y] = place(index);
    if (index) {
      const [before, from] = [all[index - 1], place(index - 1)];
      const isGone = station.state === "done" || station.state === "bad";
      parts.push(draw("path", { class: `leg ${isGone ? "gone" : ""}`, d: isNarrow ? `M${x} ${from[1] + radius + 3}V${y - radius - 3}` : `M${from[0] + radius + 3} ${y}H${x - radius - 3}` }));
      const took = isGone && index > 1 && before.time && station.time ? Date.parse(station.time) - Date.parse(before.time) : -1;
      if (took >= 0) parts.push(isNarrow ? label(x + 22, y - down / 2 + 4, "took", `after ${span(took)}`) : label((from[0] + x) / 2, y - 9, "took", span(took), "middle"));
    }
    parts.push(draw("g", { class: `station ${station.state}` }, mark(x, y, station),
      isNarrow ? label(x + 22, y + 5, "name", station.name) : label(x, 18, "name", station.name, "middle"),
      isNarrow ? label(x + 104, y + 5, "note", station.note) : label(x, y + 28, "note", station.note, "middle")));
  }
  // The refused attempts leave the line before the signature; the last one says why.
  const [x, y] = place(3);
  if (refused.length) {
    const said = `${refused.length > 1 ? `${refused.length} refused, last: ` : "Refused: "}${reasonOf(refused.at(-1)) ?? "no reason"}`;
    if (isNarrow) {
      parts.push(draw("path.branch", { d: `M${x} ${y - 34}q0 14 14 14h4` }), label(x + 22, y - 15, "reason", shortened(said, 42)));
    } else {
      parts.push(draw("path.branch", { d: `M${x - 108} ${y}q10 0 10 14v36q0 10 10 10h6` }), draw("circle.branch-end", { cx: x - 78, cy: y + 60, r: 4 }),
        label(x - 68, y + 64, "reason", shortened(said, 40)));
    }
  }
  const [width, height] = isNarrow ? [330, 22 + 4 * down + 26] : [624, refused.length ? 124 : 84];
  const story = all.map((one) => `${one.name}: ${one.note}`).join("; ");
  return draw("svg.way", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `The way of the operation. ${story}.${refused.length ? ` ${refused.length} attempts refused.` : ""}` }, parts);
}
