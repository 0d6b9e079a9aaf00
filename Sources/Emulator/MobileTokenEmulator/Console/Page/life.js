// What happened to an operation, as the server tells it: requests, push messages and each attempt of a callback.

import { make, plainly } from "./dom.js";
import { ago, span } from "./time.js";
import { ask, askExact, at, ownLanguage } from "./server.js";
import { activationName } from "./activations.js";
import { detailsLink, moment as momentOf, moments as listed } from "./details.js";
import { deliveries, receiverOf } from "./deliveries.js";

const words = {
  created: "Created", pushed: "Pushed to", shown: "In the list of", opened: "Opened by", claimed: "Claimed by", offlineCodeMade: "Offline QR code made",
  approved: "Approved by", approvalRefused: "Approval refused", rejected: "Rejected by", rejectionRefused: "Rejection refused",
  canceled: "Canceled by the bank", expired: "Expired",
};
const gap = 2000;  // milliseconds from which on a pause is drawn

export const isRefused = (moment) => moment.kind.endsWith("Refused");

export const reasonOf = (moment) => plainly(moment.finding ?? moment.reason);

const tried = ({ attempt, attempts }) => `Callback ${attempt}${attempts > 1 && attempt <= attempts ? ` of ${attempts}` : ""}`;

/** The same refusal again and again is one moment, which leads to the last. */
const joinedOf = (moments) => moments.reduce((all, one) => {
  const last = all.at(-1);
  const isSame = last && isRefused(one) && last.kind === one.kind && last.activationId === one.activationId && reasonOf(last) === reasonOf(one);
  return isSame ? [...all.slice(0, -1), { ...one, time: last.time, count: last.count + 1 }] : [...all, one];
}, []);

export const timeline = (moments) => listed(joinedOf(moments).map((moment, index, all) => {
  const { kind, activationId, count, deliveryId } = moment;
  const said = deliveryId ? tried(moment) : activationId ? words[kind] : words[kind].replace(/ by$/, "");
  const isBad = isRefused(moment) || kind === "callbackFailed";
  const before = all[index - 1];
  const pause = before ? Date.parse(moment.time) - Date.parse(isRefused(before) ? before.last : before.time) : 0;
  return [momentOf(moment.time), [
    moment.requestId ? detailsLink("journal", moment.requestId, said) : moment.pushId ? detailsLink("pushes", moment.pushId, said) : said,
    count > 1 && isRefused(moment) && make("b", ` × ${count}`),
    activationId && [" ", detailsLink("activations", activationId, activationName(activationId))],
    deliveryId && [" ", receiverOf(deliveries.find(String(deliveryId))), kind === "callbackDelivered" ? ": taken" : ""],
    count > 1 && make("span.muted", ", last ", ago(moment.last)),
    isBad && make("p", reasonOf(moment), moment.next && [", next ", ago(moment.next)]),
    (moment.factors || count > 1 && !isBad) && make("p.hint", [moment.factors && `signed with ${moment.factors.replaceAll("_", " and ")}`, count > 1 && !isBad && `${count} times`].filter(Boolean).join("; ")),
  ], { "data-kind": kind, class: isBad && "bad", "data-gap": pause >= gap && `${span(pause)} later` }];
}));

/** What is told of one operation beside what the list knows. */
export class Story {
  constructor(id) { Object.assign(this, { id, told: [], language: "", asked: 0 }); }

  load() { return Promise.all([this.follow(), this.translate()]); }

  /** Asks what happened; what is heard of meanwhile is asked for once afterwards. */
  async follow() {
    this.hasNews = true;
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      while (this.hasNews) {
        this.hasNews = false;
        ({ moments: this.told, awaited: this.awaited } = await ask(at`operations/${this.id}/history`));
      }
    } finally {
      this.isAsking = false;
    }
  }

  /** Asks for the phone's language. Answers may overtake each other: that to the latest question counts. */
  async translate() {
    const number = ++this.asked;
    // There is none of an operation whose template is gone.
    const preview = await askExact(at`operations/${this.id}/preview?language=${this.language || ownLanguage}`).catch(() => undefined);
    if (number !== this.asked) return false;
    this.preview = preview;
    return true;
  }

  moments(item) {
    if (this.told.length) return this.told;
    const time = new Date(item.timestampCreated).toISOString();
    return [{ kind: "created", time, last: time, count: 1 }];
  }

  get deliveries() {
    return [...deliveries.items.values()].filter((one) => one.operationId === this.id).reverse()
      .map((one) => ({ ...one, last: this.told.findLast((moment) => String(moment.deliveryId) === one.id)?.time ?? one.created }));
  }

  shown(item) { return this.preview ?? { language: "en", languages: ["en"], operation: { formData: item.formData } }; }
}
