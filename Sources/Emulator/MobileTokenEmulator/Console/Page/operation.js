// An operation that is open: its phone on the left, its life on the right.

import { capitalized, choice, facts, joined, make } from "./dom.js";
import { ago, dateOf, serverNow, until } from "./time.js";
import { api, ask, at, quietly } from "./server.js";
import { attempt, dangerousAction, defineDetails, detailsLink, folded, refreshDetails, section, showDetails, shownKey } from "./details.js";
import { address, addressOfFiltered, split } from "./address.js";
import { onOperations, operations } from "./operations.js";
import { onDelivery } from "./deliveries.js";
import { deciders } from "./devices.js";
import { headline } from "./what.js";
import { isRefused, reasonOf, Story, timeline } from "./life.js";
import { way } from "./way.js";
import { decisionControls, languages, phone } from "./phone.js";
import { pushes } from "./pushes.js";
import { OfflineApproval } from "./offline.js";

const narrow = matchMedia("(max-width: 1099px)");
const approvals = new Map();  // by operation: the offline approval that was begun
let story = null;  // that of the operation that is open

export function showOperation(id, { offline = false } = {}) {
  showDetails("operations", id);
  if (offline) approvalOf(id).start();
}

function approvalOf(id) {
  if (!approvals.has(id)) approvals.set(id, new OfflineApproval(id, () => operations.find(id)));
  return approvals.get(id);
}

export function refreshOpenOperation() { if (story) refreshDetails(`operations/${story.id}`); }

/** Asks what has happened since, if it is the open one that was heard of. */
function follow(id) {
  const told = story;
  if (told?.id === id && address.open === `operations/${id}`) quietly(told.follow().then(() => refreshDetails(`operations/${id}`)));
}

onOperations((ids) => ids.forEach(follow));
onDelivery((one) => follow(one?.operationId));
narrow.onchange = refreshOpenOperation;

function summary(item, moments, awaited) {
  const last = moments.findLast(isRefused);
  const reason = item.statusReason ?? item.rejectReason;
  return make("div.summary",
    make("p.headline", headline(item)),
    make("p.muted", item.title, " for ", item.userId ?? "anybody, until somebody claims it", ", ", ago(item.timestampCreated), item.status === "PENDING" && [" · ", until(item.timestampExpires)]),
    last && item.status !== "APPROVED" && make("p.finding.bad", `${reasonOf(last) ?? "Refused"}. `, detailsLink("journal", last.requestId, "Why"), make("span.muted", ` · ${item.failureCount} of ${item.maxFailureCount} attempts`)),
    item.status === "PENDING" && !last && awaited && make("p", `${capitalized(awaited)}.`),
    reason && make("p", `Reason: ${reason}`));
}

function phoneColumn(item, told) {
  const shown = told.shown(item);
  const isPending = item.status === "PENDING";
  const [device, ...others] = deciders(item);
  const controls = (one) => decisionControls(item, one, shown.operation.ui?.flipButtons, attempt);
  return make("div.phone-column",
    phone({ ...shown, status: item.status, owner: device?.name ?? item.userId ?? "Anybody’s phone", controls: device && isPending ? controls(device) : undefined }),
    choice(languages(shown.languages), shown.language, {
      "aria-label": "Language of the phone", "data-action": "language", oninput: ({ target }) => { told.language = target.value; return quietly(told.translate().then((isNew) => { if (isNew) refreshDetails(`operations/${told.id}`); })); },
    }),
    isPending && section("Other phones", others.slice(0, 9).map((one) => make("div.card", make("p", one.name), controls(one)))),
    isPending && !device && make("p.hint", item.userId ? `A client of ${item.userId}’s decides: there is no virtual phone.` : "Whoever claims it decides."));
}

defineDetails("operations", (id) => ({
  isWide: true,
  prepare: () => {
    story = new Story(id);
    return Promise.all([operations.need(id), story.load()]);
  },
  render: () => {
    const item = operations.find(id);
    const told = story?.id === id ? story : new Story(id);
    const moments = told.moments(item);
    const isPending = item.status === "PENDING";
    const cancel = () => ask(at`cloud/operations/${id}?statusReason=CANCELED_IN_CONSOLE`, undefined, "DELETE");
    return {
      title: item.title,
      status: item.status,
      body: [make("div.opened", phoneColumn(item, told), make("div.stack",
        summary(item, moments, told.awaited),
        way(item, moments, told.deliveries, narrow.matches),
        section("Life", timeline(moments), links(item, told)),
        isPending && folded("Offline approval", Boolean(approvalOf(id).code || approvalOf(id).failure), approvalOf(id).card()),
        folded("Identifiers and data", false, facts([
          ["Identifier", item.id, "copy"], ["Type", item.operationType], ["Signed data", item.data, "copy"], ["Proximity code", item.proximityOtp, "copy"],
          ["Failures", `${item.failureCount} of ${item.maxFailureCount}`], ["Created", dateOf(item.timestampCreated)], ["Expires", dateOf(item.timestampExpires)],
        ]))))],
      actions: isPending ? [dangerousAction("Cancel operation", "Cancel it for good?", cancel)] : [],
    };
  },
}));

const links = (item, told) => make("p.links", joined([
  make("a", { href: addressOfFiltered("journal", item.id) }, "All its requests"),
  make("a", { href: new URL(at`operations/${item.id}/history`, api).href }, "As JSON"),
  ...[...pushes.items.values()].filter((one) => one.operationId === item.id).map((one) => detailsLink("pushes", one.id, `Push ${one.id}`)),
  ...told.deliveries.map((one) => detailsLink("deliveries", one.id, `Callback ${one.id}`)),
], " · "));

let proximityStep = 0;

// A proximity code is good for half a minute.
setInterval(() => {
  const step = Math.floor(serverNow() / 30000);
  if (step === proximityStep) return;
  proximityStep = step;
  const [kind, id] = split(shownKey() ?? "/");
  if (kind === "operations" && operations.items.get(id)?.proximityOtp) operations.touch(id);
}, 1000);
