import { facts, make, pill } from "./dom.js";
import { plain, pretty, section } from "./details.js";

/** Why a signature or an authentication code is right or wrong: what was signed, and what of it the server's keys make, too. */
export function judgedCode(code) {
  return [
    make("h3", {}, `Signature ${code.isRight ? "is right" : "is wrong"}`),
    make("div", { class: "card judged" },
      facts([["Protocol", code.version], ["Factors", code.factors.replaceAll("_", " and ")], ["Server’s counter", code.counter], ["Counters tried", tried(code)], ["Made with", place(code)], ["Keys", code.keyName], ["Hint", code.hint && sentence(code.hint)]]),
      code.components ? make("ul", { class: "components" }, ...code.components.map(({ factor, matches }) =>
        make("li", {}, pill(matches ? "accepted" : "refused", matches ? "matches" : "does not match"), ` ${factor}`))) : null,
      code.isRight ? null : make("p", { class: "hint" }, advice(code))),
    ...signed(code.signedData),
  ];
}

const sentence = (text) => text[0].toUpperCase() + text.slice(1);

const tried = (code) => (code.lookAhead === undefined ? undefined : `${code.counter} to ${code.counter + code.lookAhead - 1}`);

function place(code) {
  if (code.stepsBehind !== undefined) return `counter ${code.counter - code.stepsBehind}, ${code.stepsBehind} steps behind the server`;
  if (code.stepsAhead === undefined) return undefined;
  return `counter ${code.counter + code.stepsAhead}, ${code.stepsAhead} steps ahead of the server`;
}

/** What a person may look at next. */
function advice(code) {
  if (!code.components) {
    return code.hint
      ? "The keys and the counter are right, but other data was signed."
      : "No factor’s component matches under any counter: other data was signed than what is shown below, with another application secret, with keys of another activation, or with a counter that is further away.";
  }
  const wrong = code.components.filter((one) => !one.matches).map((one) => one.factor);
  if (code.stepsBehind !== undefined) return "All is right but the counter, which the client has used before: it was put back from a backup.";
  if (!wrong.length) return "All is right but the counter, which is too far ahead: the client and the server have lost each other.";
  return wrong.includes("knowledge")
    ? "Data, counter and possession are right: the password is wrong."
    : `Data, counter and possession are right: the key of ${wrong.join(" and ")} is wrong.`;
}

function fromBase64(text) {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The normalized data, and what its parts say. */
function signed(data) {
  const [method, uriID, nonce, body] = data.split("&");
  const text = fromBase64(body ?? "");
  return [
    ...section("What was signed", plain(`${data}&…`),
      make("p", { class: "hint" }, "Method, URI identifier, nonce and body, joined by &; the secret at the end is not shown.")),
    facts([["Method", method, "code"], ["URI identifier", fromBase64(uriID ?? ""), "code"], ["Nonce", nonce, "code"]]),
    ...section("Signed body", plain(text === undefined ? "cut, or no text" : pretty(text))),
  ];
}
