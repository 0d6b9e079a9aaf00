import { $, command, confirmButton, make, plainly, showTotal, tried } from "./dom.js";
import { ago } from "./time.js";
import { api, ask, root } from "./server.js";
import { postCommand } from "./curl.js";
import { onAddress, onView } from "./address.js";

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
if (own) {
  $("above").hidden = false;
  $("above").href = `${above}console/#spaces`;
}

const most = 200;  // so many are shown
let [known, count] = [[], 0];

export async function loadSpaces() {
  const { items, total } = await ask(`${spacesURL}?limit=1000`);
  [known, count] = [items, total];
  const mine = own && (items.find((one) => one.id === own) ?? await ask(`${spacesURL}/${own}`).catch(() => undefined));
  if (mine?.name) show(mine.name, "Space ");
  showTotal("spaces", total);
  showList();
}

/** As a report of tests: the server lists those that have failed first. */
function showList() {
  const wanted = $("spaces-filter").value.trim().toLowerCase();
  const found = known.filter(({ id, name = "", failure = "" }) => `${id}\n${name}\n${failure}`.toLowerCase().includes(wanted));
  const failed = found.filter((one) => one.failure).length;
  $("spaces-list").replaceChildren(...found.slice(0, most).map(row));
  $("spaces-count").textContent = count === 0 ? "No spaces yet. Tests that run side by side each make one."
    : [failed && `${failed} failed`, found.length > most || wanted || count > known.length ? `${Math.min(most, found.length)} of ${count} shown` : ""].filter(Boolean).join(", ");
}
onAddress(showList);

const gist = (failure) => failure.trim().split("\n")[0];

const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

const reasonIn = ({ url, lastRefusal: last }) => last && [": ", make("a", { href: `${new URL(url).pathname}/console/#journal/${last.id}` }, plainly(last.finding))];

function row(space) {
  const isOwn = space.id === own;
  const name = space.name ?? space.id;
  const said = space.failure && gist(space.failure);
  return make("li",
    make("div",
      space.failure && make("span.bad", "✗ "),
      isOwn ? make("b", name) : make("a", { href: `${new URL(space.url).pathname}/console/` }, name),
      make("span.muted", ` · ${counted(space.operations, "operation")}`), space.refused > 0 && make("span.bad", ` · ${space.refused} refused`, reasonIn(space)),
      said && make("p.bad", `“${said}”`),
      make("p.hint", isOwn && "this one, ", "made ", ago(space.created)),
      said && said !== space.failure && make("details", make("summary", "All of it"), make("pre", { tabindex: "0" }, space.failure))),
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

$("spaces-commands").append(...[
  ["pytest and JUnit, a report of what fails", "mobile-token-emulator exec --per-test --report report -- pytest"],
  ["Any other test makes its own", postCommand(spacesURL, { name: "a test" })],
].map(([label, text]) => make("div", make("p.hint", label), command(text, label))));

onView("spaces", loadSpaces);
