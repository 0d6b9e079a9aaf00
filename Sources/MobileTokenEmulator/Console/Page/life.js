import { dateOf, make, timeOf } from "./dom.js";
import { activationName } from "./activations.js";
import { detailsLink } from "./details.js";

const words = {
  created: "Created", shown: "In the list of", opened: "Opened by", claimed: "Claimed by", offlineCodeMade: "Offline QR code made",
  approved: "Approved by", approvalRefused: "Approval refused", rejected: "Rejected by", rejectionRefused: "Rejection refused",
  canceled: "Canceled", expired: "Expired",
};
const good = new Set(["approved", "rejected"]);
const bad = new Set(["approvalRefused", "rejectionRefused"]);

/** The life of an operation, oldest first; each moment leads to its request. */
export function timeline(moments) {
  if (!moments.length) return undefined;
  return make("ol", { class: "moments" }, ...moments.map((moment) => {
    const what = words[moment.kind] ?? moment.kind;
    const about = [
      moment.factors && `signed with ${moment.factors.replaceAll("_", " and ")}`,
      moment.count > 1 && `${moment.count} times, last at ${timeOf(moment.last)}`,
    ].filter(Boolean).join("; ");
    return make("li", {},
      make("time", { title: dateOf(moment.time) }, timeOf(moment.time)),
      make("div", {},
        make("span", { class: good.has(moment.kind) ? "good" : bad.has(moment.kind) ? "bad" : "" },
          moment.requestID ? detailsLink("journal", moment.requestID, what) : what),
        moment.activationID ? make("span", {}, " ", detailsLink("activations", moment.activationID, activationName(moment.activationID))) : null,
        about ? make("p", { class: "hint" }, about) : null,
        moment.reason ? make("p", { class: `hint ${bad.has(moment.kind) ? "bad" : ""}` }, moment.reason) : null));
  }));
}
