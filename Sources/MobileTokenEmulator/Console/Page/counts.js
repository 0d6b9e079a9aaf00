// One glance: how many operations there are of each kind, and why attempts were refused.

import { $, make } from "./dom.js";
import { operations } from "./operations.js";
import { journal, reasonOf } from "./journal.js";

const shown = ["PENDING", "APPROVED", "REJECTED"];

function mostly(entries) {
  const found = new Map();
  for (const title of entries.filter((one) => one.code?.isRight === false).map(reasonOf)) found.set(title, (found.get(title) ?? 0) + 1);
  return [...found].sort((one, other) => other[1] - one[1])[0]?.[0];
}

export function showCounts() {
  const by = new Map();
  let refused = 0;
  for (const item of operations.items.values()) {
    by.set(item.status, (by.get(item.status) ?? 0) + 1);
    refused += item.failureCount;
  }
  const tile = (kind, count, name = kind, note) => make("div", { class: kind }, make("b", count.toLocaleString()), make("span", name), note && make("small", note));
  $("operations-counts").hidden = operations.total === 0;
  $("operations-counts").replaceChildren(...shown.map((one) => tile(one.toLowerCase(), by.get(one) ?? 0)),
    refused ? tile("refused", refused, refused === 1 ? "refused attempt" : "refused attempts", mostly(journal.entries)) : "");
}

journal.onShow = showCounts;
