// An operation as a phone would show it. Nothing is loaded from elsewhere: of a picture, its address is shown.

import { button, capitalized, make } from "./dom.js";
import { ask, at } from "./server.js";
import { grouped, list } from "./what.js";

const text = (kind, content) => content && make("p", { class: kind }, String(content));
const raw = (value) => text("mono", JSON.stringify(value));
const picture = (address) => address && make("p.mono", make("span.muted", "Picture: "), address);
const bullet = (content = "") => make("p", `• ${content}`);
const row = (label, ...content) => make("div.attribute", text("label", label), content);
const money = (label, formatted, amount, currency, other) => make("div.attribute.money", text("label", label), text("value", formatted ?? `${amount} ${currency}`), other);
const box = (kind, ...content) => make("div.notice-box", { "data-kind": kind }, content);

const attributes = {
  ALERT: (one) => box(one.alertType, text("label", one.label), text("heading", one.title), text("", one.message)),
  HEADING: (one) => text("heading", one.label),
  AMOUNT: (one) => money(one.label, one.valueFormatted, one.amountFormatted ?? one.amount, one.currencyFormatted ?? one.currency),
  AMOUNT_CONVERSION: (one) => money(one.label, one.sourceValueFormatted, one.sourceAmount, one.sourceCurrency,
    text("", `${one.dynamic ? "≈" : "="} ${one.targetValueFormatted ?? `${one.targetAmount} ${one.targetCurrency}`}`)),
  KEY_VALUE: (one) => row(one.label, text("value", grouped(String(one.value ?? "")))),
  NOTE: (one) => row(one.label, text("value", one.note)),
  IMAGE: (one) => row(one.label, picture(one.thumbnailUrl), picture(one.originalUrl)),
  PARTY_INFO: ({ label, partyInfo: { logoUrl, name, description, websiteUrl } = {} }) =>
    row(label, picture(logoUrl), text("value", name), text("", description), text("mono", websiteUrl)),
};

/** One attribute; one of a kind that no phone knows is shown as it came. */
const attribute = (one) => (Object.hasOwn(attributes, one?.type) ? attributes[one.type](one) : row(`${one?.label ?? ""} (unknown: ${one?.type})`, raw(one)));

const elements = {
  LIST_ITEM: (one) => bullet(one.text),
  ALERT: (one) => box(one.style, text("", one.text)),
  BUTTON: (one) => make("p", make("span.key", one.text), " ", make("span.mono", one.href ?? one.action)),
};
const element = (one) => (Object.hasOwn(elements, one?.type) ? elements[one.type](one) : raw(one));

const keys = (labels) => make("div.keys", labels.filter(Boolean).map((label) => make("span.key", label)));

const card = (name, { heading, message }, ...content) =>
  make("section.step", { "aria-label": name }, make("p.caption", name), text("heading", heading), text("", message), content);

function preApproval(one) {
  const { approve, decline, flip } = one.controls ?? {};
  const labels = [approve && `${approve.text ?? approve.type}${approve.counter ? ` (${approve.counter} s)` : ""}`, decline && (decline.text ?? decline.type)];
  return card(`Before: ${one.type ?? "?"}`, one, list(one.items).map(bullet), list(one.elements).map(element), keys(flip ? labels.reverse() : labels));
}

function postApproval(one) {
  const { attributes: shown, ...others } = one.payload ?? {};
  return card(`After approval: ${one.type ?? "?"}`, one, list(shown).map(attribute), Object.keys(others).length > 0 && raw(others));
}

const outcomes = {
  APPROVED: ["✓", "Approved", "success"], REJECTED: ["✕", "Rejected", "reject"], FAILED: ["!", "Failed", "failure"],
  CANCELED: ["–", "Canceled by the bank"], EXPIRED: ["–", "Expired"],
};

function outcome(name, texts) {
  const [mark, title, key] = outcomes[name] ?? ["–", name];
  return make("div.outcome", { "data-status": name }, make("span.mark", { "aria-hidden": "true" }, mark), make("p.heading", title), text("", texts?.[key]));
}

const languageNames = new Intl.DisplayNames(undefined, { type: "language" });

export const languages = (codes) => codes.map((code) => {
  try { return [code, languageNames.of(code)]; } catch { return [code]; }  // a template may call them anything
});

export const frame = (owner, kind, ...content) => make("article", { class: `phone ${kind}`, "aria-label": `${owner}: the phone` },
  make("header", make("span.owner", owner), make("span.speaker", { "aria-hidden": "true" })),
  make("div.glass", { tabindex: "0", role: "group", "aria-label": "Screen" }, content));

const spaced = (kind) => capitalized(kind.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase());

/** What is read and not signed, or the other way, as the client's library finds it. */
const doubtBox = (doubts) => doubts.length > 0 && make("div.doubts", { role: "note" }, make("p.heading", "Doubts"),
  make("ul", doubts.map(({ kind, subject }) => make("li", spaced(kind), subject && [": ", make("bdi.mono", subject)]))));

/** A phone with an `operation` as devices get it; `controls` are real buttons in the place of drawn ones. */
export function phone({ operation, language, doubts, status = "PENDING", owner = "Mobile token", controls, notice }) {
  const { formData = {}, allowedSignatureType } = operation;
  const ui = operation.ui ?? {};
  const before = list(ui.preApprovalScreens).length ? ui.preApprovalScreens : [ui.preApprovalScreen].filter(Boolean);
  const isPending = status === "PENDING";
  const factors = allowedSignatureType?.type === "1FA" ? ["possession"] : list(allowedSignatureType?.variants);  // servers list none for it
  const variants = factors.join(" or ").replaceAll(" or possession_", " or ").replaceAll("_", " and ");
  const made = frame(owner, "",
    isPending ? before.map(preApproval) : outcome(status, formData.resultTexts),
    make("div.step.main", text("heading large", formData.title), text("message", formData.message), list(formData.attributes).map(attribute),
      doubtBox(list(doubts)),
      isPending && text("caption", variants && `Signed with ${variants}${ui.blockApprovalOnCall ? "; not during a call" : ""}`)),
    ui.postApprovalScreen && (!isPending || !controls) && postApproval(ui.postApprovalScreen));
  if (language) made.lang = language;
  if (isPending) made.append(make("footer", notice, controls ?? keys(ui.flipButtons ? ["Approve", "Reject"] : ["Reject", "Approve"])));
  return made;
}

let count = 0;  // the same phone may be there twice: beside the list, and in the opened operation

/** Real buttons: pressing one is the decision, which a virtual device signs and sends. `attempt(button, perform)` shows what goes wrong. */
export function decisionControls(operation, device, isFlipped, attempt) {
  const name = `password-${count += 1}`;
  const wrong = make("input", { type: "radio", name, value: "wrong", "data-action": `password ${operation.id} ${device.id} wrong` });
  const right = make("input", { type: "radio", name, value: "right", checked: true, "data-action": `password ${operation.id} ${device.id} right` });
  const key = (label, kind, decision) => button(label, ({ currentTarget }) => attempt(currentTarget, () => ask(at`devices/${device.id}/decisions`, {
    operationId: operation.id, decision: decision(), proximityCode: operation.proximityOtp,
  })), { class: kind, "data-action": `${label} ${device.id}`, "aria-label": `${label} as ${device.name}` });
  const keys = [key("Reject", "", () => "reject"), key("Approve", "primary", () => (wrong.checked ? "wrongPassword" : "approve"))];
  return make("div.controls", { role: "group", "aria-label": `Decide as ${device.name}` },
    make("fieldset.password", make("legend", "Password"), make("label.choice", right, "right"), make("label.choice", wrong, "wrong")),
    make("div.keys", isFlipped ? keys.reverse() : keys));
}
