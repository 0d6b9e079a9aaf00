import { capitalized, facts, make, pretty, status } from "./dom.js";
import { folded, plain, section } from "./details.js";

const steps = (count) => `${count} ${count === 1 ? "step" : "steps"}`;

/** What leads to the finding that a signature is wrong. */
export function evidence(code) {
  if (!code.components) {
    return code.hint ? `The keys and the counter are right. ${capitalized(code.hint)}.`
      : "No factor’s component matches under any counter: other data was signed than what is shown below, with another application secret, with keys of another activation, or with a counter that is further away.";
  }
  if (code.stepsBehind !== undefined) return `All is right but the counter, which is ${steps(code.stepsBehind)} behind: the client was put back from a backup.`;
  if (code.components.every((one) => one.matches)) return "Data and keys are right: the client and the server have lost each other.";
  return "Data, counter and possession are right.";
}

export function judgedCode(code) {
  const [tried, place] = [
    code.lookAhead === undefined ? undefined : `${code.counter} to ${code.counter + code.lookAhead - 1}`,
    code.stepsBehind !== undefined ? `counter ${code.counter - code.stepsBehind}, ${steps(code.stepsBehind)} behind the server`
      : code.stepsAhead === undefined ? undefined : `counter ${code.counter + code.stepsAhead}, ${steps(code.stepsAhead)} ahead of the server`,
  ];
  return [
    make("h3", `Signature ${code.isRight ? "is right" : "is wrong"}`),
    code.components ? make("ul.components", code.components.map(({ factor, matches }) =>
      make("li", status(matches ? "accepted" : "refused", `${factor} ${matches ? "matches" : "does not match"}`)))) : null,
    folded("Counters and keys", false, facts([["Factors", code.factors.replaceAll("_", " and ")], ["Counters tried", tried], ["Made with", place], ["Server’s counter", code.counter], ["Protocol", code.version], ["Keys", code.keyName], ["Hint", code.hint && capitalized(code.hint)]])),
    ...signed(code.signedData),
  ];
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
      make("p.hint", "Method, URI identifier, nonce and body, joined by &; the secret at the end is not shown.")),
    facts([["Method", method, "code"], ["URI identifier", fromBase64(uriID ?? ""), "code"], ["Nonce", nonce, "code"]]),
    ...section("Signed body", plain(text === undefined ? "cut, or no text" : pretty(text))),
  ];
}
