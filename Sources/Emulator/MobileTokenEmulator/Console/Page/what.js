// What an operation is about, in one line: the money and where it goes, or what tells most in another kind.

import { make } from "./dom.js";

export const list = (value) => (Array.isArray(value) ? value : []);
const text = (value) => (value === undefined || value === null ? "" : String(value));

/** An account number in groups of four, as people read it. */
export const grouped = (value) => (/^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/.test(value) ? value.replace(/(.{4})(?=.)/g, "$1 ") : value);

const amounts = {
  AMOUNT: (one) => text(one.valueFormatted) || `${text(one.amountFormatted ?? one.amount)} ${text(one.currencyFormatted ?? one.currency)}`,
  AMOUNT_CONVERSION: (one) => text(one.sourceValueFormatted) || `${text(one.sourceAmount)} ${text(one.sourceCurrency)}`,
};
const others = {
  KEY_VALUE: (one) => text(one.value), PARTY_INFO: (one) => text(one.partyInfo?.name), NOTE: (one) => text(one.note),
  ALERT: (one) => text(one.title ?? one.message), HEADING: (one) => text(one.label),
};
const valueOf = (kinds, one) => (Object.hasOwn(kinds, one?.type) ? kinds[one.type](one).trim() : "");

const known = new WeakMap();

/** `{lead, to, isMoney}` of an operation as the server tells it. */
export function what(item) {
  let result = known.get(item);
  if (!result) known.set(item, result = found(item));
  return result;
}

function found({ formData, title, data }) {
  const attributes = list(formData?.attributes);
  const amount = attributes.find((one) => valueOf(amounts, one));
  const told = ["KEY_VALUE", "PARTY_INFO", "NOTE", "ALERT", "HEADING"]
    .flatMap((type) => attributes.filter((one) => one?.type === type)).map((one) => grouped(valueOf(others, one))).filter(Boolean);
  if (amount) return { lead: valueOf(amounts, amount), to: told[0] ?? "", isMoney: true };
  if (told.length) return { lead: told[0], to: told[1] ?? "", isMoney: false };
  return { lead: text(formData?.message) || title || data, to: "", isMoney: false };
}

export function sentence(item) {
  const { lead, to, isMoney } = what(item);
  return to ? `${lead} ${isMoney ? "→" : "·"} ${to}` : lead;
}

export function headline(item) {
  const { lead, to, isMoney } = what(item);
  return make("span.what", make("b", make("bdi", lead)), to && make("span.to", isMoney ? " → " : " · ", make("bdi", to)));
}
