// One glance: how many operations there are of each kind, and why attempts were refused.

import { $, make, spaced } from "./dom.js";
import { ask, quietly } from "./server.js";
import { operations } from "./operations.js";
import { showStruck } from "./faults.js";
import { journal, reasonOf } from "./journal.js";

const shown = ["PENDING", "APPROVED", "REJECTED"];

function mostly(entries) {
  const found = new Map();
  for (const title of entries.filter((one) => one.code?.isRight === false).map(reasonOf)) found.set(title, (found.get(title) ?? 0) + 1);
  return [...found].sort((one, other) => other[1] - one[1])[0]?.[0];
}

const isWhole = () => operations.items.size >= operations.total;
let [isAsking, counted] = [false, undefined];
let told;  // by status, as the server counts: of what is not loaded, too

/** Asks the server, again only if something has changed since: that more of the list has come is no change. */
async function count() {
  counted = operations.changes;
  const pages = await Promise.all(shown.map((status) => ask(`operations?status=${status}&limit=1`)));
  told = new Map(shown.map((status, index) => [status, pages[index].total]));
}

export function showCounts() {
  if (isWhole()) {
    told = undefined;
  } else {
    if (!isAsking && counted !== operations.changes) {
      isAsking = true;
      quietly(count().finally(() => setTimeout(() => { isAsking = false; showCounts(); }, 100)));
    }
    if (!told) return;
  }
  draw();
}

function draw() {
  const by = new Map();
  let refused = 0;
  for (const item of operations.items.values()) {
    by.set(item.status, (by.get(item.status) ?? 0) + 1);
    refused += item.failureCount;
  }
  const tile = (kind, count, name = kind, note) => make("div", { class: kind }, make("b", spaced(count)), make("span", name), note && make("small", note));
  $("operations-counts").hidden = operations.total === 0;
  $("operations-counts").replaceChildren(...shown.map((one) => tile(one.toLowerCase(), (told ?? by).get(one) ?? 0)),
    refused ? tile("refused", refused, refused === 1 ? "refused attempt" : "refused attempts",
      told ? `of the newest ${spaced(operations.items.size)}` : mostly(journal.entries)) : "");
}

journal.onShow = () => {
  showCounts();
  showStruck();
};
