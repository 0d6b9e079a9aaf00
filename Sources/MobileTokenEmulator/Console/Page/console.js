// The console shows what the server tells and asks it for what the user wants; it decides nothing itself.

import { $, make } from "./dom.js";
import { follow } from "./server.js";
import { onOpen } from "./dialogs.js";
import { activations } from "./activations.js";
import { forgetDevice, loadDevice, loadDevices } from "./devices.js";
import { loadSpaces } from "./spaces.js";
import { messages } from "./messages.js";
import { pushes } from "./pushes.js";
import { operations, refreshOpenOperation, showOperationTimes } from "./operations.js";
import { deliveries } from "./deliveries.js";
import { templates } from "./templates.js";
import { offerTemplates } from "./operation-form.js";
import { journal } from "./journal.js";
import { loadFaults } from "./faults.js";
import { loadClock, showTime } from "./clock.js";
import { loadConfiguration } from "./connect.js";
import { openAddressedDetails } from "./details.js";
import "./views.js";

/** Offers the users there are, each with the devices of theirs. */
function offerUsers() {
  const devices = new Map();
  for (const item of activations.items.values()) {
    if (item.status === "REMOVED") continue;
    devices.set(item.userID, [...(devices.get(item.userID) ?? []), `${item.name ?? "unnamed"}, ${item.status}`]);
  }
  for (const { userID } of [...operations.items.values()].slice(-1000)) if (userID && !devices.has(userID)) devices.set(userID, []);
  $("users").replaceChildren(...[...devices].slice(0, 200).map(([value, names]) => make("option", { value }, names.join("; "))));
}
for (const input of document.querySelectorAll("[list=users]")) input.addEventListener("focus", offerUsers);

function setConnection(state, text) {
  $("connection").dataset.state = state;
  $("connection").textContent = text;
}

async function load() {
  try {
    // Names of activations first: the journal shows them.
    await Promise.all([activations.load(), loadDevices()]);
    await Promise.all([operations.load(), messages.load(), pushes.load(), deliveries.load(), journal.load(), templates.load(), loadConfiguration(), loadFaults(), loadClock(), loadSpaces()]);
    offerTemplates();
    setConnection("live", "live");
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
    if (event.status === "REMOVED") forgetDevice(event.id); else await loadDevice(event.id);
    refreshOpenOperation();
  },
  message: (event) => messages.touch(event.id),
  push: (event) => pushes.touch(event.id),
  delivery: (event) => deliveries.touch(event.id),
  request: () => journal.touch(),
  clock: () => loadClock(),
  faults: () => loadFaults(),
  reset: () => load(),
}, { connected: load, lost: () => setConnection("lost", "connection lost, trying again") });

setInterval(() => { showTime(); showOperationTimes(); }, 1000);
