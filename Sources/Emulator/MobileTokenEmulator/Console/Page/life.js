// What happened to an operation, put together from the journal and from the operation itself.

import { make } from "./dom.js";
import { ago } from "./time.js";
import { ask, askExact, at, ownLanguage } from "./server.js";
import { activationName } from "./activations.js";
import { detailsLink, moment as momentOf, moments as listed } from "./details.js";
import { journal, reasonOf as reasonOfEntry } from "./journal.js";
import { deliveries } from "./callbacks.js";

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

function once(kind, milliseconds) {
  const time = new Date(milliseconds).toISOString();
  return { kind, time, last: time, count: 1 };
}

/** The moments of an operation, oldest first; what happens again and again is one. */
function momentsOf(operation, entries) {
  const moments = [];
  for (const entry of entries) {
    const kind = kindOf(entry);
    if (!kind || !entry.isAccepted && !kind.endsWith("Refused")) continue;
    const same = repeated.has(kind) && moments.find((one) => one.kind === kind && one.activationId === entry.activationId);
    if (same) Object.assign(same, { count: same.count + 1, last: entry.time });
    else moments.push({ kind, time: entry.time, last: entry.time, count: 1, requestId: entry.id, activationId: entry.activationId, entry });
  }
  // The journal forgets, and what is made in Swift or by a scenario may not be in it.
  if (!moments.some((one) => one.kind === "created")) moments.unshift(once("created", operation.timestampCreated));
  if (operation.status === "EXPIRED") moments.push(once("expired", operation.timestampExpires));
  return moments;
}

const words = {
  created: "Created", shown: "In the list of", opened: "Opened by", claimed: "Claimed by", offlineCodeMade: "Offline QR code made",
  approved: "Approved by", approvalRefused: "Approval refused", rejected: "Rejected by", rejectionRefused: "Rejection refused",
  approvedOffline: "Approved offline", offlineRefused: "Offline code refused", read: "Read by the bank", canceled: "Canceled by the bank", expired: "Expired",
};

export const isRefused = (moment) => moment.kind.endsWith("Refused");

export const reasonOf = ({ entry }) => entry && reasonOfEntry(entry);

export const timeline = (moments) => listed(moments.map((moment) => {
  const said = words[moment.kind];
  const about = [
    moment.entry?.code && `signed with ${moment.entry.code.factors.replaceAll("_", " and ")}`,
    moment.count > 1 && `${moment.count} times`,
  ].filter(Boolean).join("; ");
  return [momentOf(moment.time), [
    moment.requestId ? detailsLink("journal", moment.requestId, said) : said,
    moment.activationId && [" ", detailsLink("activations", moment.activationId, activationName(moment.activationId))],
    moment.count > 1 && make("span.muted", ", last ", ago(moment.last)),
    isRefused(moment) && make("p", reasonOf(moment)),
    about && make("p.hint", about),
  ], { "data-kind": moment.kind, class: isRefused(moment) && "bad" }];
}));

/** What is told of one operation beside what the list knows. */
export class Story {
  constructor(id) { Object.assign(this, { id, entries: [], language: "", asked: 0 }); }

  /** Answers may overtake each other: that to the latest question counts. */
  async load() {
    const number = ++this.asked;
    const language = this.language || ownLanguage;
    const [{ entries }, preview] = await Promise.all([
      ask(at`journal?since=0&limit=1000&operationId=${this.id}`),
      // There is none of an operation whose template is gone.
      askExact(at`operations/${this.id}/preview?language=${language}`).catch(() => undefined),
    ]);
    if (number !== this.asked) return false;
    Object.assign(this, { entries, preview });
    return true;
  }

  /** With what the journal has heard of since. */
  moments(item) {
    const last = this.entries.at(-1)?.id ?? 0;
    const newer = journal.entries.filter((entry) => entry.id > last && entry.operationIds?.includes(this.id)).reverse();
    return momentsOf(item, [...this.entries, ...newer]);
  }

  get deliveries() {
    return [...deliveries.items.values()].filter((one) => one.operationId === this.id).reverse()
      .map((one) => ({ ...one, last: journal.entries.find((entry) => String(entry.deliveryId) === one.id)?.time ?? one.created }));
  }

  shown(item) { return this.preview ?? { language: "en", languages: ["en"], operation: { formData: item.formData } }; }
}
