// The console shows what the server tells and asks it for what the user wants; it decides nothing itself.

import { $, make } from "./dom.js";
import { follow, quietly } from "./server.js";
import { activations } from "./activations.js";
import { loadDevice, loadDevices } from "./devices.js";
import { loadSpaces } from "./spaces.js";
import { messages } from "./messages.js";
import { pushes } from "./pushes.js";
import { operations } from "./operations.js";
import { refreshOpenOperation } from "./operation.js";
import { loadCallbacks } from "./callbacks.js";
import { deliveries } from "./deliveries.js";
import { offerTemplates, templates } from "./templates.js";
import { journal } from "./journal.js";
import { loadFaults } from "./faults.js";
import { loadClock } from "./clock.js";
import { serverNow, setLost, timeOf } from "./time.js";
import { loadConfiguration } from "./connect.js";
import { openAddressedDetails } from "./details.js";
import { isReady, showStage } from "./stage.js";
import { showGuide } from "./guide.js";
import { showCounts } from "./counts.js";
import "./entry.js";
import "./template.js";
import "./views.js";

/** Offers the users there are, each with the devices of theirs. */
function offerUsers() {
  const devices = new Map();
  for (const { status, userId, name } of activations.items.values()) {
    if (status !== "REMOVED") devices.set(userId, [...(devices.get(userId) ?? []), `${name ?? "unnamed"}, ${status}`]);
  }
  for (const { userId } of [...operations.items.values()].slice(-1000)) if (userId && !devices.has(userId)) devices.set(userId, []);
  $("users").replaceChildren(...[...devices].slice(0, 200).map(([value, names]) => make("option", { value }, names.join("; "))));
}
for (const input of document.querySelectorAll("[list=users]")) input.onfocus = offerUsers;

/** What depends on which operations there are and who can decide them. */
function changePeople() {
  refreshOpenOperation();
  showStage();
  showGuide();
}
activations.changed = changePeople;
journal.changedApplications = () => quietly(loadConfiguration());
journal.changedCallbacks = () => quietly(loadCallbacks());
operations.onShow = () => {
  showCounts();
  if (isReady()) { showStage(); showGuide(); }
};

function setConnection(state, text = state) {
  const isLost = state === "lost";
  setLost(isLost);
  if (isLost && $("stale").hidden) $("stale").textContent = `Connection lost: this is how it was at ${timeOf(serverNow())}.`;
  $("stale").hidden = !isLost;
  $("connection").dataset.state = state;
  $("connection").textContent = text;
}

async function load() {
  try {
    // What one looks at first, and the names of activations, which the journal and the phones show.
    await Promise.all([operations.load(), activations.load(), loadDevices(), loadClock()]);
    await Promise.all([
      ...[messages, pushes, deliveries, journal, templates].map((one) => one.load()), loadConfiguration(), loadFaults(), loadSpaces(), loadCallbacks(),
    ]);
    offerTemplates();
    changePeople();
    setConnection("live");
    document.body.dataset.ready = "";
    openAddressedDetails();
  } catch (failure) {
    setConnection("lost", failure.message);
  }
}

follow({
  operation: (event) => operations.touch(event.id, event.status),
  activation: (event) => activations.touch(event.id, event.status),
  device: (event) => activations.touch(event.id),
  virtualDevice: async (event) => {
    await loadDevice(event.id);
    changePeople();
  },
  message: (event) => messages.touch(event.id),
  push: (event) => pushes.touch(event.id),
  delivery: (event) => deliveries.touch(event.id),
  request: () => journal.touch(),
  clock: loadClock,
  templates: () => templates.load().then(offerTemplates),
  faults: loadFaults,
  reset: load,
}, { connected: load, lost: () => setConnection("lost", "connection lost") });
