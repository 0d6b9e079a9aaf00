import { $, make } from "./dom.js";
import { ask } from "./server.js";
import { VirtualList } from "./virtual-list.js";
import { showCount } from "./collection.js";
import { showDetails } from "./details.js";
import { onAddress } from "./address.js";

/** What operations can be made from. */
export const templates = {
  items: [],

  list: new VirtualList($("templates-list"), {
    key: (item) => item.name,
    open: (item) => showDetails("templates", item.name),
    render: (item) => make("div", { class: "template" },
      make("span", { class: "main" }, item.title),
      make("span", { class: "sub mono" }, item.name),
      make("span", { class: "muted wide-cell" }, item.parameters.join(", ")),
      make("span", { class: "number" }, `${item.lifetime} s`)),
  }),

  async load() {
    this.items = (await ask("templates?limit=1000")).items;
    this.show();
  },

  show(fromTop = false) {
    const wanted = $("templates-filter").value.trim().toLowerCase();
    const shown = this.items.filter((item) => [item.name, item.title, ...item.parameters].join("\n").toLowerCase().includes(wanted));
    this.list.set(shown, { fromTop });
    $("tab-templates").querySelector(".count").textContent = this.items.length || "";
    showCount("templates", shown.length, this.items.length);
  },
};

let filter = "";
onAddress(() => {
  if ($("templates-filter").value === filter) return;
  filter = $("templates-filter").value;
  templates.show(true);
});
