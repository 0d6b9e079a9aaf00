// A request that is open: what was found out is the headline, everything else a footnote.

import { breakable, capitalized, copyButton, facts, make, pretty } from "./dom.js";
import { dateOf } from "./time.js";
import { ask, at } from "./server.js";
import { defineDetails, detailsLink, folded, plain, section } from "./details.js";
import { activationName } from "./activations.js";
import { callerOf, isInstead, journal, movement, reasonOf } from "./journal.js";
import { operations } from "./operations.js";
import { sentence } from "./what.js";
import { evidence, judgedCode } from "./judged-code.js";
import { curlCommand, isWhole } from "./curl.js";

let other = null;  // one that is not in the list

const find = (id) => journal.entries.find((entry) => String(entry.id) === id) ?? (String(other?.id) === id ? other : undefined);

const deeds = [[/\/operation\/authorize$/, "tried to approve"], [/\/operation\/cancel$/, "tried to reject"], [/\/activation\/create$/, "tried to activate"], [/\/offline\/otp$/, "The offline code of"]];

function attempt(entry) {
  const deed = deeds.find(([pattern]) => pattern.test(entry.path))?.[1] ?? `asked for ${entry.path}`;
  const operation = entry.operationIds?.length === 1 && operations.find(entry.operationIds[0]);
  return [callerOf(entry) || (entry.deliveryId === undefined ? "A client" : "The server"), " ", deed, operation ? [" ", detailsLink("operations", operation.id, sentence(operation))] : null, "."];
}

function finding(entry) {
  if (entry.isAccepted) return [];
  const reason = reasonOf(entry) ?? (entry.fault ? `The fault “${entry.fault}” struck` : `Refused with ${entry.status}`);
  const said = entry.code && !entry.code.isRight ? evidence(entry.code) : "";
  return [make("div.verdict",
    make("p.headline.bad", `${capitalized(reason)}.`.replace("..", ".")),
    said && make("p", said),
    make("p.muted", attempt(entry)))];
}

defineDetails("journal", (id) => ({
  prepare: () => (find(id) ? undefined : ask(at`journal/${id}`).then((entry) => { other = entry; })),
  render: () => {
    const entry = find(id) ?? other;
    return {
      title: [`${entry.method} `, ...breakable(entry.path)],
      status: [entry.isAccepted ? "accepted" : "refused", entry.status ? `${entry.isAccepted ? "accepted" : "refused"} with ${entry.status}` : "no answer"],
      body: [
        ...finding(entry),
        facts([
          ["Fault", [entry.fault, entry.faultEffect].filter(Boolean).join(": ") || (entry.refusal === "fault" ? "unnamed" : "")],
          ["Ignored", (entry.warnings ?? []).map((warning) => warning.message.replace(/^ignored: /, "")).join("; ")],
          ["Activation", entry.activationId && detailsLink("activations", entry.activationId, activationName(entry.activationId))],
          ["Operations", operationLinks(entry.operationIds ?? [])],
          ["Device", entry.deviceName && (isInstead(entry) ? `${entry.deviceName}, in the bank’s stead` : entry.deviceName)],
          ["Callback", entry.deliveryId && detailsLink("deliveries", entry.deliveryId, `Number ${entry.deliveryId}`)],
          ["Query", entry.query, "code"], ["Time", dateOf(entry.time)],
        ]),
        ...(entry.code ? judgedCode(entry.code) : []),
        ...layers("Request, decrypted", entry.decryptedBody),
        ...layers("Response, decrypted", entry.decryptedResponseBody),
        ...section("Request", plain(pretty(entry.body))),
        ...section("Response", plain(pretty(entry.responseBody))),
        folded("Headers, counter and reason", false,
          facts([["Reason", entry.refusal], ["Counter", movement(entry)], ["Number", entry.id]]),
          plain(entry.headers.map((header) => `${header.name}: ${header.value}`).join("\n"))),
      ],
      actions: isWhole(entry) ? [copyButton(curlCommand(entry), "Copy as curl")] : [],
    };
  },
}));

/** An activation is made of two layers, one in the other. */
const layers = (title, bodies = []) => bodies.flatMap((body, index) =>
  section(index ? `${title}, inner layer` : title, plain(pretty(body))));

const operationLinks = (ids) => (ids.length ? make("span", [...new Set(ids)].slice(0, 10).flatMap((id, index) =>
  [index ? ", " : "", detailsLink("operations", id, id)])) : undefined);
