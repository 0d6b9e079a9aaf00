import { make } from "./dom.js";
import { grouped } from "./what.js";

// An operation as a phone would show it. Nothing is loaded from elsewhere: of a picture, its address is shown.

const list = (value) => (Array.isArray(value) ? value : []);
const text = (kind, content) => (content ? make("p", { class: kind }, String(content)) : null);
const row = (label, ...values) => make("div", { class: "attribute" }, text("label", label), ...values.map((value) => text("value", value)));
const picture = (address) => (address ? make("p", { class: "mono" }, make("span", { class: "muted" }, "Picture: "), address) : null);

const attributes = {
  ALERT: (one) => make("div", { class: "notice-box", "data-kind": one.alertType }, text("label", one.label), text("heading", one.title), text("", one.message)),
  HEADING: (one) => text("heading", one.label),
  AMOUNT: (one) => make("div", { class: "attribute money" }, text("label", one.label),
    text("value", one.valueFormatted ?? `${one.amountFormatted ?? one.amount} ${one.currencyFormatted ?? one.currency}`)),
  AMOUNT_CONVERSION: (one) => make("div", { class: "attribute money" }, text("label", one.label),
    text("value", one.sourceValueFormatted ?? `${one.sourceAmount} ${one.sourceCurrency}`),
    text("", `${one.dynamic ? "≈" : "="} ${one.targetValueFormatted ?? `${one.targetAmount} ${one.targetCurrency}`}`)),
  KEY_VALUE: (one) => row(one.label, grouped(String(one.value ?? ""))),
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
  ALERT: () => make("div", { class: "notice-box", "data-kind": one.style }, text("", one.text)),
  BUTTON: () => make("p", {}, make("span", { class: "key" }, one.text ?? ""), " ", make("span", { class: "mono" }, one.href ?? one.action ?? "")),
}[one?.type] ?? (() => text("mono", JSON.stringify(one))))();

const keys = (...labels) => make("div", { class: "keys" }, labels.filter(Boolean).map((label) => make("span", { class: "key" }, label)));

const card = (name, ...content) => make("section", { class: "step", "aria-label": name }, make("p", { class: "caption" }, name), ...content);

function preApproval(one) {
  const { approve, decline, flip } = one.controls ?? {};
  const labels = [approve && `${approve.text ?? approve.type}${approve.counter ? ` (${approve.counter} s)` : ""}`, decline && (decline.text ?? decline.type)];
  return card(`Before: ${one.type ?? "?"}`, text("heading", one.heading), text("", one.message), list(one.items).map((item) => make("p", {}, `• ${item}`)),
    list(one.elements).map(element), keys(...(flip ? labels.reverse() : labels)));
}

function postApproval(one) {
  const { attributes: shown, ...others } = one.payload ?? {};
  return card(`After approval: ${one.type ?? "?"}`, text("heading", one.heading), text("", one.message), list(shown).map(attribute),
    Object.keys(others).length ? text("mono", JSON.stringify(others)) : null);
}

const outcomes = {
  APPROVED: ["✓", "Approved", "success"], REJECTED: ["✕", "Rejected", "reject"], FAILED: ["!", "Failed", "failure"],
  CANCELED: ["–", "Canceled by the bank"], EXPIRED: ["–", "Expired"],
};

/** What the phone says at the end. */
function outcome(name, texts) {
  const [mark, title, key] = outcomes[name] ?? ["–", name];
  return make("div", { class: "outcome", "data-status": name }, make("span", { class: "mark", "aria-hidden": "true" }, mark),
    make("p", { class: "heading" }, title), text("", texts?.[key]));
}

/**
 * A phone with an operation.
 *
 * `operation` has `formData`, `ui` and `allowedSignatureType` as devices get them. `controls` are the real buttons in
 * the place of drawn ones; `status` is what became of it, `owner` whose phone it is.
 */
export function phone({ operation, language, status = "PENDING", owner = "Mobile token", controls, notice }) {
  const { formData = {}, ui = {}, allowedSignatureType } = operation;
  const before = list(ui?.preApprovalScreens).length ? ui.preApprovalScreens : [ui?.preApprovalScreen].filter(Boolean);
  const labels = ui?.flipButtons ? ["Approve", "Reject"] : ["Reject", "Approve"];
  const isPending = status === "PENDING";
  const variants = list(allowedSignatureType?.variants).join(" or ").replaceAll("_", " and ");
  return make("article", { class: "phone", lang: language, "aria-label": `${owner}: the phone` },
    make("header", {}, make("span", { class: "owner" }, owner), make("span", { class: "speaker", "aria-hidden": "true" })),
    make("div", { class: "glass", tabindex: "0", role: "group", "aria-label": "Screen" },
      isPending ? null : outcome(status, formData.resultTexts),
      isPending ? before.map(preApproval) : null,
      make("div", { class: "step main" }, text("heading large", formData.title), text("message", formData.message), list(formData.attributes).map(attribute),
        isPending && variants ? text("caption", `Signed with ${variants}${ui?.blockApprovalOnCall ? "; not during a call" : ""}`) : null),
      ui?.postApprovalScreen && (!isPending || !controls) ? postApproval(ui.postApprovalScreen) : null),
    isPending ? make("footer", {}, notice ?? null, controls ?? keys(...labels)) : null);
}
