import { $, confirmButton, make, showTotal, tried } from "./dom.js";
import { ago } from "./time.js";
import { api, ask, root } from "./server.js";
import { onView } from "./address.js";

// A space has none of its own: it is marked among its server's.
const [, above, own] = /^(.*?\/)spaces\/([^/]+)\//.exec(api.pathname) ?? [];
const spacesURL = new URL(own ? `${above}_emulator/spaces` : "spaces", api).href;

/** What this page is of: a space by its name, or a server by its address. */
export const place = { name: root.host, onName: undefined };

function show(name, kind) {
  place.name = name;
  $("place").replaceChildren(kind, make("bdi", name));
  place.onName?.();
}
show(own ?? root.host, own ? "Space " : "");

export async function loadSpaces() {
  const { items, total } = await ask(`${spacesURL}?limit=100`);
  const mine = own && (items.find((one) => one.id === own) ?? await ask(`${spacesURL}/${own}`).catch(() => undefined));
  if (mine?.name) show(mine.name, "Space ");
  // Those of failed tests first.
  $("spaces-list").replaceChildren(...items.toSorted((one, other) => Boolean(other.failure) - Boolean(one.failure)).map(row));
  $("spaces-count").textContent = total > items.length ? `The newest ${items.length} of ${total}.` : total ? "" : "No spaces yet. Tests that run side by side each make one.";
  showTotal("spaces", total);
}

function row(space) {
  const isOwn = space.id === own;
  const name = space.name ?? space.id;
  return make("li",
    make("div",
      space.failure && make("span.bad", "✗ "),
      isOwn ? make("b", name) : make("a", { href: `${new URL(space.url).pathname}/console/` }, name),
      make("p.hint", isOwn && "this one, ", "made ", ago(space.created)),
      space.failure && make("p.bad", space.failure)),
    !isOwn && confirmButton("Remove", "With all that is in it?", () => change("Removed", `${spacesURL}/${encodeURIComponent(space.id)}`, undefined, "DELETE")));
}

async function change(done, ...request) {
  await tried($("spaces-error"), () => ask(...request), done);
  await loadSpaces();
}

$("new-space").onsubmit = async (event) => {
  event.preventDefault();
  const name = $("space-name").value.trim();
  await change("Space created", spacesURL, name ? { name } : {});
  $("space-name").value = "";
};

onView("spaces", loadSpaces);
