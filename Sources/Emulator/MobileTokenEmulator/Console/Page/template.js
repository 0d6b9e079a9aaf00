// A template that is open: its document on the left, the phone that shows it on the right, while one types.

import { $, make, options, toast } from "./dom.js";
import { ask, askExact, at, ownLanguage } from "./server.js";
import { action, dangerousAction, defineDetails, showDetails } from "./details.js";
import { go } from "./address.js";
import { newOperation, templates } from "./templates.js";
import { languages, phone } from "./phone.js";

const skeleton = {
  name: "my_template", data: "A1*A${amount}${currency}*I${iban}",
  allowedSignatureType: { type: "2FA", variants: ["possession_knowledge", "possession_biometry"] },
  parameters: { amount: "100.00", currency: "CZK", iban: "CZ5508000000001234567899" }, texts: { en: { title: "My operation" } },
  formData: {
    title: "@{title}", message: "Please confirm:",
    attributes: [
      { type: "AMOUNT", id: "amount", label: "Amount", amount: "${amount:number}", currency: "${currency}" },
      { type: "KEY_VALUE", id: "account", label: "To account", value: "${iban}" },
    ],
  },
};

/** Fills a template as the server would, for one that it does not know yet. */
function filled(value, parameters, texts) {
  if (Array.isArray(value)) return value.map((one) => filled(one, parameters, texts));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one, parameters, texts)]));
  if (typeof value !== "string") return value;
  const number = /^\$\{([\w.-]+):number\}$/.exec(value);
  if (number) {
    const text = String(parameters[number[1]] ?? "");
    if (!/^-?\d+(\.\d+)?$/.test(text)) throw new Error(`The parameter ${number[1]} is not a number`);
    return JSON.rawJSON ? JSON.rawJSON(text) : Number(text);
  }
  const words = value.replace(/@\{([\w.-]+)\}/g, (whole, name) => texts[name] ?? whole);
  return words.replace(/\$\{([\w.-]+)(?::\w+)?\}/g, (whole, name) => String(parameters[name] ?? whole));
}

class Draft {
  constructor(name, text) { Object.assign(this, { name, text, parameters: {}, language: "", failure: "", asked: 0, isChanged: false }); }

  /** Answers may overtake each other: that to the latest question counts. */
  async load() {
    const number = ++this.asked;
    let told;
    try {
      told = { shown: await this.preview(), failure: "" };
    } catch (failure) {
      told = { failure: failure.message };
    }
    if (number === this.asked) Object.assign(this, told);
  }

  async preview() {
    const language = this.language || ownLanguage;
    const path = at`operations/preview?language=${language}`;
    if (!this.isChanged && this.name) return askExact(path, { template: this.name, parameters: this.parameters });
    const document = JSON.parse(this.text);
    const parameters = { ...document.defaults, ...document.parameters, ...this.parameters };
    const languages = Object.keys(document.texts ?? { en: {} }).sort();
    const chosen = languages.find((one) => one === this.language) ?? languages.find((one) => language.startsWith(one)) ?? "en";
    const texts = { ...document.texts?.en, ...document.texts?.[chosen] };
    const [formData, ui] = [filled(document.formData ?? {}, parameters, texts), document.ui && filled(document.ui, parameters, texts)];
    const body = { operationType: document.operationType ?? document.name, data: filled(document.data ?? "", parameters, {}), formData, allowedSignatureType: document.allowedSignatureType };
    const preview = await askExact(path, ui ? { ...body, ui } : body);
    return { ...preview, languages, language: chosen };
  }

  async change(change) {
    Object.assign(this, change);
    await this.load();
    this.show();
  }

  /** The fields are not drawn anew: they keep what is typed, and the place in it. */
  show() {
    if (draft !== this) return;  // another one was opened meanwhile
    const shown = this.shown;
    $("draft-error").textContent = this.failure;
    $("draft-phone").replaceChildren(...(shown ? [phone({ ...shown, owner: "Preview" })] : []));
    const choice = $("draft-language");
    choice.replaceChildren(...options(languages(shown?.languages ?? []), shown?.language));
    $("draft-save").disabled = !this.isChanged;
  }

  async save() {
    const saved = await ask("templates", this.text);
    await templates.load();
    toast("Template saved, until a reset");
    this.isChanged = false;
    if (saved.name === this.name) await this.change({});
    else showDetails("templates", saved.name);
  }
}

let draft = null;

function editor(template) {
  const parameters = template?.parameters ?? Object.keys(skeleton.parameters);
  const inputs = parameters.map((name) => make("label", name, make("input", {
    name, "data-action": `parameter ${name}`, autocomplete: "off", spellcheck: "false", value: draft.parameters[name] ?? "", placeholder: template?.defaults[name] ?? skeleton.parameters[name] ?? "",
    oninput: (event) => {
      const { [name]: before, ...others } = draft.parameters;
      return draft.change({ parameters: event.target.value === "" ? others : { ...others, [name]: event.target.value } });
    },
  })));
  const text = make("textarea", {
    id: "draft-text", rows: "24", spellcheck: "false", autocapitalize: "off", "aria-label": "The template as JSON", "data-action": "document",
    oninput: (event) => draft.change({ text: event.target.value, isChanged: true }),
  });
  text.value = draft.text;
  const language = make("select", { id: "draft-language", "aria-label": "Language of the phone", oninput: () => draft.change({ language: language.value }) });
  return make("div.opened.editor",
    make("div.phone-column", make("div", { id: "draft-phone" }), language),
    make("div.stack",
      inputs.length > 0 && make("fieldset", make("legend", "Parameters"), inputs),
      make("h3", "Document"), text, make("p", { id: "draft-error", class: "error", role: "alert" }),
      make("p.hint", "${name} is a parameter, @{name} a text of the language.")));
}

defineDetails("templates", (name) => ({
  isWide: true,
  prepare: async () => {
    const isNew = name === "new";
    if (!isNew && !templates.find(name)) throw new Error("There is no such template");
    draft = new Draft(isNew ? "" : name, JSON.stringify(isNew ? skeleton : await ask(at`templates/${name}`), null, 2));
    draft.isChanged = isNew;
    await draft.load();
  },
  render: () => {
    const item = templates.find(name);
    const body = editor(item);
    requestAnimationFrame(() => { if (draft && body.isConnected) draft.show(); });
    const save = action("Save", () => draft.save());
    save.id = "draft-save";
    return {
      title: item?.title ?? "New template",
      status: [item?.name ?? "new", item?.name],
      body: [body],
      actions: [
        item ? action("New operation of it", () => newOperation(name, draft.parameters), "primary") : null, save,
        item ? dangerousAction("Remove template", "Remove until a reset?", async () => {
          await ask(at`templates/${name}`, undefined, "DELETE");
          await templates.load();
          go({ open: undefined });
        }) : null,
      ].filter(Boolean),
    };
  },
}));

document.querySelector("[data-open=new-template]").onclick = () => showDetails("templates", "new");
