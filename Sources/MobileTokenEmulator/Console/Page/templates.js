import { $, facts, make } from "./dom.js";
import { ask, askExact } from "./server.js";
import { VirtualList } from "./virtual-list.js";
import { showCount } from "./collection.js";
import { action, defineDetails, refreshDetails, section, showDetails } from "./details.js";
import { onAddress } from "./address.js";
import { previewCard } from "./preview.js";
import { newOperation } from "./operation-form.js";

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

/** How an operation would be shown that is made from a template with these parameters. */
class TemplatePreview {
  constructor(name) { Object.assign(this, { name, parameters: {}, language: "", failure: "", asked: 0 }); }

  /** Answers may overtake each other: that to the latest question counts. */
  async load() {
    const number = ++this.asked;
    const language = this.language || navigator.language || "";
    const body = { template: this.name, parameters: this.parameters };
    const told = await askExact(`operations/preview?language=${encodeURIComponent(language)}`, { method: "POST", body })
      .then((shown) => ({ shown, failure: "" }), (failure) => ({ failure: failure.message }));
    if (number === this.asked) Object.assign(this, told);
  }

  async change(change) {
    Object.assign(this, change);
    await this.load();
    refreshDetails(`templates/${this.name}`);
  }

  form(template) {
    const inputs = template.parameters.map((name) => make("label", {}, name, make("input", {
      name, "data-action": `parameter ${name}`, autocomplete: "off", spellcheck: "false", value: this.parameters[name] ?? "", placeholder: template.defaults[name] ?? "",
      onchange: (event) => {
        const { [name]: before, ...others } = this.parameters;
        return this.change({ parameters: event.target.value === "" ? others : { ...others, [name]: event.target.value } });
      },
    })));
    return make("fieldset", {}, make("legend", {}, "Parameters"), ...inputs);
  }
}

let preview = null;

defineDetails("templates", (name) => ({
  prepare: async () => {
    if (!templates.items.some((one) => one.name === name)) throw new Error("There is no such template");
    preview = new TemplatePreview(name);
    await preview.load();
  },
  render: () => {
    const item = templates.items.find((one) => one.name === name);
    return {
      title: item.title,
      status: ["template", item.name],
      body: [
        facts([["Name", item.name, "copy"], ["Expires after", `${item.lifetime} s`], ["Proximity check", item.demandsProximityCheck ? "yes" : undefined],
          ["Data", preview.shown?.operation.data, "code"]]),
        preview.form(item),
        make("p", { class: "error", role: "alert" }, preview.failure),
        ...section("On a phone", preview.shown && previewCard(preview.shown, (language) => preview.change({ language }))),
      ],
      actions: [action("New operation of it", () => newOperation(name, preview.parameters), "primary")],
    };
  },
}));
