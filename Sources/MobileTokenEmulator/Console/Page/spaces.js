import { $, confirmButton, make, timeOf } from "./dom.js";
import { api, ask } from "./server.js";
import { address, onAddress } from "./address.js";

// One that is a space itself has none, and shows nothing of them.
const isSpace = api.pathname.includes("/spaces/");

/** Shows the servers in this server. */
export async function loadSpaces() {
  for (const id of ["spaces-heading", "spaces-card"]) $(id).hidden = isSpace;
  if (isSpace) return;
  const { items, total } = await ask("spaces?limit=100");
  $("spaces-list").replaceChildren(...items.map(row));
  $("spaces-count").textContent = total > items.length ? `The newest ${items.length} of ${total}.` : total ? "" : "None. Tests that run side by side each make one.";
}

function row(space) {
  const remove = () => change(`spaces/${encodeURIComponent(space.id)}`, { method: "DELETE" });
  return make("li", {},
    make("div", {}, make("a", { href: `${new URL(space.url).pathname}/console/` }, space.name ?? space.id), make("span", { class: "muted" }, ` made at ${timeOf(space.created)}`)),
    confirmButton("Remove", "With all that is in it?", remove));
}

async function change(path, options) {
  $("spaces-error").textContent = "";
  try {
    await ask(path, options);
  } catch (failure) {
    $("spaces-error").textContent = failure.message;
  }
  await loadSpaces();
}

$("new-space").addEventListener("submit", async (event) => {
  event.preventDefault();
  const name = $("space-name").value.trim();
  await change("spaces", { method: "POST", body: name ? { name } : {} });
  $("space-name").value = "";
});

// Nothing tells of those that tests make and remove: they are looked up when they are looked at.
let view;
onAddress(() => {
  if (address.view === "connect" && view !== "connect") loadSpaces().catch(() => { /* the stream's end tells that the server has gone */ });
  view = address.view;
});
