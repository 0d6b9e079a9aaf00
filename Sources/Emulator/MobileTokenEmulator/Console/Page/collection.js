import { $, announce, showTotal, spaced } from "./dom.js";
import { ask, quietly } from "./server.js";
import { refreshDetails, showDetails } from "./details.js";
import { offerApplications } from "./lists.js";
import { onAddress } from "./address.js";
import { VirtualList } from "./virtual-list.js";

const [firstPage, pageSize] = [100, 1000];
const capacity = 20000;
const [few, many] = [3, 30];  // so many are fetched one by one; beyond, the newest come in one request

/** What the server has of one kind, by its events, and a list of those that pass the filter. */
export class Collection {
  /** `describe(item)` is what a person hears when the item's status has changed. */
  constructor(name, render, describe) {
    Object.assign(this, { name, describe });
    this.list = new VirtualList($(`${name}-list`), { key: (item) => item.id, open: (item) => showDetails(name, item.id), render });
    this.items = new Map();  // oldest first
    this.others = new Map();  // what was asked for by itself and is too old for the list
    this.arrived = new Map();  // what has been fetched by itself since the last load began
    this.stale = new Set();  // identifiers of what has changed
    this.total = 0;  // how many the server has, and never less than what is shown
    this.counted = 0;  // the most it said since the last load began
    this.generation = 0;
    this.changes = 0;  // how often something was heard of
    this.refreshed = 0;  // when it was last: the first event of many is shown at once
    this.texts = new WeakMap();
    this.filterField = $(`${name}-filter`);
    this.choice = $(`${name}-status`);
    this.application = $(`${name}-application`);
    onAddress(() => {
      const filter = [this.filterField, this.choice, this.application].map((field) => field?.value).join("\n");
      if (filter === this.filter) return;
      this.filter = filter;
      this.show({ fromTop: true });
    });
  }

  find(id) { return this.items.get(id) ?? this.others.get(id); }

  pathOf(id) { return `${this.name}/${encodeURIComponent(id)}`; }

  /** Fetches one that is not here; throws when the server does not have it. */
  async need(id) { if (!this.find(id)) this.others.set(id, this.prepared(await ask(this.pathOf(id)))); }

  /** The newest are there when this returns; older ones follow by themselves. */
  async load() {
    const generation = ++this.generation;
    this.changes += 1;
    this.arrived.clear();
    this.counted = 0;
    const newest = await this.page(0, firstPage);
    if (generation !== this.generation) return;
    this.total = Math.max(newest.total, this.counted);
    this.replace(newest.items);
    quietly(this.loadOlder(newest.items.length, generation));
  }

  async loadOlder(count, generation) {
    while (count < Math.min(this.total, capacity)) {
      const { items } = await this.page(count, pageSize);
      if (generation !== this.generation || items.length === 0) return;
      count += items.length;
      this.replace(items, this.items);
    }
  }

  page(offset, limit) { return ask(`${this.name}?limit=${limit}&offset=${offset}`); }

  /** Takes a list of the server, newest first, before `newer` ones; what has been heard of since it was made stays. */
  replace(loaded, newer = []) {
    const items = new Map();
    for (const one of loaded.toReversed()) {
      const item = this.prepared(one);
      items.set(item.id, item);
    }
    offerApplications([...items.values()].map((one) => this.applicationOf(one)));
    for (const some of [newer, this.arrived]) for (const [id, item] of some) items.set(id, item);
    this.items = items;
    this.show();
  }

  /** Fetches some, and shows them together with how many there are now. */
  async fetch(ids) {
    const generation = this.generation;
    const found = new Map();
    let total;
    // One that is not known here may be new, or older than what is loaded: only the server can count.
    if (ids.length > few || !ids.every((id) => this.items.has(id))) {
      const newest = await this.page(0, ids.length > few ? Math.min(pageSize, 2 * ids.length) : 1);
      total = newest.total;
      const wanted = new Set(ids);
      for (const item of newest.items.toReversed().map((one) => this.prepared(one))) {
        if (wanted.has(item.id)) found.set(item.id, item);
      }
    }
    const others = ids.filter((id) => !found.has(id));
    if (others.length > many) return this.load();
    for (const one of await Promise.all(others.map((id) => ask(this.pathOf(id))))) {
      const item = this.prepared(one);
      found.set(item.id, item);
    }
    offerApplications([...found.values()].map((one) => this.applicationOf(one)));
    if (generation !== this.generation) return this.fetch(ids);  // the list was loaded anew meanwhile
    // In the order in which they were heard of: two new ones stand as the server lists them.
    for (const id of ids.filter((one) => found.has(one))) {
      this.items.set(id, found.get(id));
      this.arrived.set(id, found.get(id));
    }
    if (total !== undefined) this.total = this.counted = Math.max(this.counted, this.total, total);
  }

  /** For one that was just made here. */
  async add(id) {
    await this.fetch([id]);
    this.show({ fromTop: true });
  }

  /** One has changed. The status is shown at once, the rest when it has been fetched, many together. */
  touch(id, status) {
    const item = this.items.get(id);
    if (item && status && item.status !== status && item.status !== undefined) {
      this.items.set(id, { ...item, status });
      if (this.stale.size < 3) announce(this.describe(this.items.get(id)));
    }
    this.stale.add(id);
    this.changes += 1;
    this.timer ??= setTimeout(() => quietly(this.refresh()), this.refreshed + 60 - performance.now());
  }

  /** One at a time: what is heard of meanwhile is fetched together afterwards. */
  async refresh() {
    const ids = [...this.stale];
    this.stale.clear();
    this.refreshed = performance.now();
    this.show();
    try {
      await this.fetch(ids);
    } finally {
      this.timer = undefined;
      const [next] = this.stale;
      if (next !== undefined) this.touch(next);
    }
    ids.forEach((id) => this.list.highlight(id));
    this.show();
    this.changed?.(ids);
    ids.forEach((id) => refreshDetails(`${this.name}/${id}`));
  }

  // What a kind may have of its own: how an item of the server's becomes one of the list's, what the choices of a status and of an
  // application are compared with, and what the filter looks at.
  prepared(item) { return item; }
  statusOf(item) { return item.status; }
  applicationOf() { return undefined; }
  searched(item) { return Object.values(item); }

  show({ fromTop = false } = {}) {
    const wanted = this.filterField.value.trim().toLowerCase();
    const [status, application] = [this.choice?.value, this.application?.value];
    const shown = [...this.items.values()]
      .filter((item) => (!status || this.statusOf(item) === status) && (!application || this.applicationOf(item) === application) && (!wanted || this.textOf(item).includes(wanted)));
    this.list.set(shown.reverse(), { fromTop });
    showTotal(this.view ?? this.name, this.total);
    showCount(this.name, shown.length, this.total);
    this.onShow?.();
  }

  textOf(item) {
    if (!this.texts.has(item)) this.texts.set(item, this.searched(item).join("\n").toLowerCase());
    return this.texts.get(item);
  }
}

/** Says how many are shown, and what there is to do when there are none. */
export function showCount(name, shown, total) {
  const empty = $(`${name}-list`).parentElement.querySelector(".empty");
  if (empty) empty.hidden = total > 0;
  $(`${name}-shown`).textContent = total === 0 || shown === total ? ""
    : shown === 0 ? `None of ${spaced(total)} passes the filter` : `${spaced(shown)} of ${spaced(total)}`;
}
