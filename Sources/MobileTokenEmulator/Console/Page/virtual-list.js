import { make } from "./dom.js";

/**
 * A list of any length: only the rows in view exist, and one is made anew only when its item was replaced by another.
 * The list itself has the focus, so rows may come and go under it.
 */
export class VirtualList {
  /** `open(item)` follows a click or Enter, `reachedEnd()` the last row in view. */
  constructor(element, { key, render, open, reachedEnd }) {
    Object.assign(this, { element, key, render, open, reachedEnd });
    this.items = [];
    this.rows = new Map();  // by key, those in view
    this.highlighted = new Set();
    this.active = null;
    this.space = make("div.space", { role: "presentation" });
    element.append(this.space);
    element.setAttribute("role", "listbox");
    element.tabIndex = 0;
    element.addEventListener("scroll", () => this.schedule(), { passive: true });
    element.addEventListener("keydown", (event) => this.move(event));
    element.addEventListener("focus", () => { if (this.active === null && element.matches(":focus-visible")) this.activate(0); });
    element.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (!row) return;
      this.activate(this.items.findIndex((item) => this.keyOf(item) === row.dataset.key));
      this.open(this.items[this.activeIndex]);
    });
    new ResizeObserver(() => { this.measured = undefined; this.schedule(); }).observe(element);
  }

  set(items, { fromTop = false } = {}) {
    const first = Math.floor(this.element.scrollTop / this.rowHeight);
    const anchor = this.items[first] && this.keyOf(this.items[first]);
    const offset = this.element.scrollTop - first * this.rowHeight;
    this.items = items;
    this.space.style.height = `${items.length * this.rowHeight}px`;
    if (fromTop) {
      this.element.scrollTop = 0;
    } else if (this.element.scrollTop > 0 && anchor !== undefined) {
      // Rows that come in above leave what is being read where it is.
      const index = items.findIndex((item) => this.keyOf(item) === anchor);
      if (index >= 0) this.element.scrollTop = index * this.rowHeight + offset;
    }
    this.schedule();
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
    const height = this.rowHeight;
    const start = Math.max(0, Math.floor(this.element.scrollTop / height) - 3);
    const end = Math.min(this.items.length, start + Math.ceil(this.element.clientHeight / height) + 6);
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
    row.setAttribute("aria-setsize", this.items.length);
    row.setAttribute("aria-posinset", index + 1);
    row.setAttribute("aria-selected", key === this.active);
    row.style.transform = `translateY(${index * height}px)`;
    if (this.highlighted.has(key)) row.classList.add("changed");
    return { row, item };
  }

  activate(index) {
    if (!this.items.length) return;
    const bounded = Math.max(0, Math.min(this.items.length - 1, index));
    this.active = this.keyOf(this.items[bounded]);
    const top = bounded * this.rowHeight;
    const overhang = top + this.rowHeight - this.element.clientHeight;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (overhang > this.element.scrollTop) this.element.scrollTop = overhang;
    this.schedule();
  }

  move(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.activate(this.activeIndex + steps[event.key]);
    else if ((event.key === "Enter" || event.key === " ") && this.activeIndex >= 0) this.open(this.items[this.activeIndex]);
    else return;
    event.preventDefault();
  }
}
