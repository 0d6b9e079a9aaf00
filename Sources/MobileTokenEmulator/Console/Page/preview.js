import { make } from "./dom.js";

// An operation as a phone would show it. Nothing is loaded from elsewhere: of a picture, its address is shown.

const text = (kind, content) => (content ? make("p", { class: kind }, String(content)) : null);
const row = (label, ...values) => make("div", { class: "attribute" }, text("label", label), ...values.map((value) => text("value", value)));
const picture = (address) => (address ? make("p", { class: "mono" }, make("span", { class: "muted" }, "Picture: "), address) : null);

const attributes = {
  ALERT: (one) => make("div", { class: `notice-box ${one.alertType ?? ""}` }, text("label", one.label), text("heading", one.title), text("", one.message)),
  HEADING: (one) => text("heading", one.label),
  AMOUNT: (one) => row(one.label, one.valueFormatted ?? `${one.amountFormatted ?? one.amount} ${one.currencyFormatted ?? one.currency}`),
  AMOUNT_CONVERSION: (one) => row(one.label,
    one.sourceValueFormatted ?? `${one.sourceAmount} ${one.sourceCurrency}`,
    `${one.dynamic ? "≈" : "="} ${one.targetValueFormatted ?? `${one.targetAmount} ${one.targetCurrency}`}`),
  KEY_VALUE: (one) => row(one.label, one.value),
  NOTE: (one) => row(one.label, one.note),
  IMAGE: (one) => make("div", { class: "attribute" }, text("label", one.label), picture(one.thumbnailUrl), picture(one.originalUrl)),
  PARTY_INFO: (one) => make("div", { class: "attribute" }, text("label", one.label), picture(one.partyInfo?.logoUrl),
    text("value", one.partyInfo?.name), text("", one.partyInfo?.description), text("mono", one.partyInfo?.websiteUrl)),
};

/** One attribute; one of a kind that no phone knows is shown as it came. */
function attribute(one) {
  if (Object.hasOwn(attributes, one?.type)) return attributes[one.type](one);
  return make("div", { class: "attribute" }, text("label", `${one?.label ?? ""} (unknown: ${one?.type})`), text("mono", JSON.stringify(one)));
}

const element = (one) => ({
  LISTITEM: () => make("p", {}, `• ${one.text ?? ""}`),
  ALERT: () => make("div", { class: `notice-box ${one.style ?? ""}` }, text("", one.text)),
  BUTTON: () => make("p", {}, make("span", { class: "key" }, one.text ?? ""), " ", make("span", { class: "mono" }, one.href ?? one.action ?? "")),
}[one?.type] ?? (() => text("mono", JSON.stringify(one))))();

const keys = (...labels) => make("div", { class: "keys" }, ...labels.filter(Boolean).map((label) => make("span", { class: "key" }, label)));

const screen = (name, ...content) => make("section", { class: "screen", "aria-label": name }, make("p", { class: "caption" }, name), ...content);

function preApproval(one, name) {
  const { approve, decline, flip } = one.controls ?? {};
  const labels = [approve && `${approve.text ?? approve.type}${approve.counter ? ` (${approve.counter} s)` : ""}`, decline && (decline.text ?? decline.type)];
  return screen(`${name}: ${one.type ?? "?"}`, text("heading", one.heading), text("", one.message), ...list(one.items).map((item) => make("p", {}, `• ${item}`)),
    ...list(one.elements).map(element), keys(...(flip ? labels.reverse() : labels)));
}

function postApproval(one) {
  const { attributes: shown, ...others } = one.payload ?? {};
  return screen(`After approval: ${one.type ?? "?"}`, text("heading", one.heading), text("", one.message), ...list(shown).map(attribute),
    Object.keys(others).length ? text("mono", JSON.stringify(others)) : null);
}

const list = (value) => (Array.isArray(value) ? value : []);

/** The screens of an operation as the Mobile Token API describes it. */
export function phone({ operation, language }) {
  const { formData = {}, ui = {} } = operation;
  const before = list(ui.preApprovalScreens).length ? ui.preApprovalScreens : [ui.preApprovalScreen].filter(Boolean);
  const results = Object.entries(formData.resultTexts ?? {});
  return make("div", { class: "phone", lang: language },
    ...before.map((one) => preApproval(one, "Before")),
    screen("Operation",
      text("heading large", formData.title), text("", formData.message), ...list(formData.attributes).map(attribute),
      text("caption", `Signed with ${list(operation.allowedSignatureType?.variants).join(" or ").replaceAll("_", " and ")}${ui.blockApprovalOnCall ? "; not during a call" : ""}`),
      keys(...(ui.flipButtons ? ["Approve", "Reject"] : ["Reject", "Approve"]))),
    ui.postApprovalScreen ? postApproval(ui.postApprovalScreen) : null,
    results.length ? screen("Result", ...results.map(([name, value]) => row(name, value))) : null);
}

/** The choice of a language, and the screens in it. */
export function previewCard(preview, choose) {
  const choice = make("select", { "aria-label": "Language of the preview", "data-action": "language", oninput: () => choose(choice.value) },
    ...preview.languages.map((one) => make("option", { value: one, selected: one === preview.language }, one)));
  return make("div", { class: "preview" }, choice, phone(preview));
}
