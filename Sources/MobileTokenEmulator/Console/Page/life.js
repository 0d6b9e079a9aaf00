// What happened to an operation, put together from the journal and from the operation itself.

import { make } from "./dom.js";
import { ago, exactTime } from "./time.js";
import { activationName } from "./activations.js";
import { detailsLink } from "./details.js";
import { verdict } from "./judged-code.js";

const endings = [
  [/\/app\/operation\/list$/, () => "shown"], [/\/app\/operation\/detail$/, () => "opened"], [/\/operation\/detail\/claim$/, () => "claimed"],
  [/\/app\/operation\/authorize$/, (entry) => (entry.isAccepted ? "approved" : "approvalRefused")],
  [/\/app\/operation\/cancel$/, (entry) => (entry.isAccepted ? "rejected" : "rejectionRefused")],
  [/\/offline\/qr$/, () => "offlineCodeMade"],
  [/\/offline\/otp$/, (entry) => (/"otpValid"\s*:\s*true/.test(entry.responseBody) ? "approvedOffline" : "offlineRefused")],
];

function kindOf(entry) {
  if (/\/v2\/operations(\/[^/]+)?$/.test(entry.path)) return { POST: "created", DELETE: "canceled" }[entry.method] ?? "read";
  return endings.find(([pattern]) => pattern.test(entry.path))?.[1](entry);
}

const repeated = new Set(["shown", "opened", "read"]);

/** The moments of an operation, oldest first; what happens again and again is one. */
export function momentsOf(operation, entries) {
  const moments = [];
  for (const entry of entries) {
    const kind = kindOf(entry);
    if (!kind || !entry.isAccepted && !kind.endsWith("Refused")) continue;
    const same = repeated.has(kind) && moments.find((one) => one.kind === kind && one.activationID === entry.activationID);
    if (same) Object.assign(same, { count: same.count + 1, last: entry.time });
    else moments.push({ kind, time: entry.time, last: entry.time, count: 1, requestID: entry.id, activationID: entry.activationID, entry });
  }
  // The journal forgets, and what is made in Swift or by a scenario may not be in it.
  if (!moments.some((one) => one.kind === "created")) moments.unshift({ kind: "created", time: operation.created, last: operation.created, count: 1 });
  if (operation.status === "EXPIRED") moments.push({ kind: "expired", time: operation.expires, last: operation.expires, count: 1 });
  return moments;
}

const words = {
  created: "Created", shown: "In the list of", opened: "Opened by", claimed: "Claimed by", offlineCodeMade: "Offline QR code made",
  approved: "Approved by", approvalRefused: "Approval refused", rejected: "Rejected by", rejectionRefused: "Rejection refused",
  approvedOffline: "Approved offline", offlineRefused: "Offline code refused", read: "Read by the bank", canceled: "Canceled by the bank", expired: "Expired",
};

export const isRefused = (moment) => moment.kind.endsWith("Refused");

export const reasonOf = ({ entry }) => (entry?.code && !entry.code.isRight ? verdict(entry.code).title : entry?.refusal);

/** The life of an operation as a list; each moment leads to its request. */
export const timeline = (moments) => make("ol.moments", moments.map((moment) => {
  const said = words[moment.kind];
  const about = [
    moment.entry?.code && `signed with ${moment.entry.code.factors.replaceAll("_", " and ")}`,
    moment.count > 1 && `${moment.count} times`,
  ].filter(Boolean).join("; ");
  return make("li", { "data-kind": moment.kind, class: isRefused(moment) ? "bad" : "" },
    make("time", { datetime: moment.time, title: moment.time }, exactTime(moment.time)),
    make("div",
      moment.requestID ? detailsLink("journal", moment.requestID, said) : said,
      moment.activationID ? [" ", detailsLink("activations", moment.activationID, activationName(moment.activationID))] : null,
      moment.count > 1 && make("span.muted", ", last ", ago(moment.last)),
      isRefused(moment) && make("p", reasonOf(moment)),
      about && make("p.hint", about)));
}));
