import { make } from "./dom.js";

/**
 * A list of any length: only the rows in view exist, and one is made anew only when its item was replaced by another.
 * The list itself has the focus, so rows may come and go under it. However often it is set, it is drawn once a frame, and where it is
 * and how high is known from events: to ask for it would lay the page out.
 */
export class VirtualList {
  /** `open(item)` follows a click or Enter, `reachedEnd()` the last row in view. */
  constructor(element, { key, render, open, reachedEnd }) {
    Object.assign(this, { element, key, render, open, reachedEnd });
    this.items = [];
    this.drawn = this.items;  // those that the rows in view are of
    [this.top, this.height] = [0, 0];
    this.rows = new Map();  // by key, those in view
    this.highlighted = new Set();
    this.active = null;
    this.space = make("div.space", { role: "presentation" });
    element.append(this.space);
    element.setAttribute("role", "listbox");
    element.tabIndex = 0;
    element.addEventListener("scroll", () => { this.top = element.scrollTop; this.schedule(); }, { passive: true });
    element.addEventListener("keydown", (event) => this.move(event));
    element.addEventListener("focus", () => { if (this.active === null && element.matches(":focus-visible")) this.activate(0); });
    element.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (!row) return;
      this.activate(this.items.findIndex((item) => this.keyOf(item) === row.dataset.key));
      this.open(this.items[this.activeIndex]);
    });
    new ResizeObserver(() => {
      this.height = element.clientHeight;
      this.measured = undefined;
      if (this.height) element.scrollTop = this.top;  // while it is hidden, it cannot be scrolled
      this.schedule();
    }).observe(element);
  }

  set(items, { fromTop = false } = {}) {
    this.items = items;
    this.isFromTop ||= fromTop;
    this.schedule();
  }

  /** Takes the items that were set: rows that come in above leave what is being read where it is. */
  take() {
    const { drawn, items, isFromTop, rowHeight } = this;
    this.space.style.height = `${items.length * rowHeight}px`;
    if (drawn === items && !isFromTop) return;
    if (isFromTop) {
      if (this.top > 0) this.scrollTo(0);
    } else if (this.top > 0) {
      const first = Math.floor(this.top / rowHeight);
      const anchor = drawn[first] && this.keyOf(drawn[first]);
      const index = items.findIndex((item) => this.keyOf(item) === anchor);
      if (index >= 0 && index !== first) this.scrollTo(this.top + (index - first) * rowHeight);
    }
    [this.drawn, this.isFromTop] = [items, false];
  }

  scrollTo(top) {
    this.element.scrollTop = top;
    this.top = top;
  }

  highlight(key) { this.highlighted.add(String(key)); }

  keyOf(item) { return String(this.key(item)); }
  get activeIndex() { return this.items.findIndex((item) => this.keyOf(item) === this.active); }
  get rowHeight() {
    this.measured ??= parseFloat(getComputedStyle(this.element).getPropertyValue("--row"))
      * parseFloat(getComputedStyle(document.documentElement).fontSize);
    return this.measured;
  }

  schedule() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => { this.isScheduled = false; this.draw(); });
  }

  draw() {
    this.take();
    const height = this.rowHeight;
    const start = Math.max(0, Math.floor(this.top / height) - 3);
    const end = Math.min(this.items.length, start + Math.ceil(this.height / height) + 6);
    const inView = new Map();
    for (let index = start; index < end; index++) {
      const item = this.items[index];
      const key = this.keyOf(item);
      inView.set(key, this.place(this.rows.get(key), item, key, index, height));
    }
    for (const [key, { row }] of this.rows) if (inView.get(key)?.row !== row) row.remove();
    this.rows = inView;
    // In the document's order too, for those who do not see the page.
    let previous = this.space;
    for (const { row } of inView.values()) {
      if (previous.nextElementSibling !== row) previous.after(row);
      previous = row;
    }
    this.highlighted.clear();
    const active = inView.get(this.active);
    if (active) this.element.setAttribute("aria-activedescendant", active.row.id);
    else this.element.removeAttribute("aria-activedescendant");
    if (end === this.items.length) this.reachedEnd?.();
  }

  /** The row there is, if it shows this very item, or a new one. */
  place(old, item, key, index, height) {
    let row = old?.row;
    if (old?.item !== item) {
      row = this.render(item);
      row.classList.add("row");
      row.id = `${this.element.id}-${key}`;
      row.dataset.key = key;
      row.setAttribute("role", "option");
    }
    const state = [this.items.length, index, key === this.active, height].join();
    if (old?.row !== row || old.state !== state) {
      row.setAttribute("aria-setsize", this.items.length);
      row.setAttribute("aria-posinset", index + 1);
      row.setAttribute("aria-selected", key === this.active);
      row.style.transform = `translateY(${index * height}px)`;
    }
    if (this.highlighted.has(key)) row.classList.add("changed");
    return { row, item, state };
  }

  activate(index) {
    if (!this.items.length) return;
    this.take();
    const bounded = Math.max(0, Math.min(this.items.length - 1, index));
    this.active = this.keyOf(this.items[bounded]);
    const top = bounded * this.rowHeight;
    const overhang = top + this.rowHeight - this.height;
    if (top < this.top) this.scrollTo(top);
    else if (overhang > this.top) this.scrollTo(overhang);
    this.schedule();
  }

  move(event) {
    const page = Math.max(1, Math.floor(this.height / this.rowHeight) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.activate(this.activeIndex + steps[event.key]);
    else if ((event.key === "Enter" || event.key === " ") && this.activeIndex >= 0) this.open(this.items[this.activeIndex]);
    else return;
    event.preventDefault();
  }
}
