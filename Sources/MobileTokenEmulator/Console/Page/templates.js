import { make } from "./dom.js";
import { ask } from "./server.js";
import { Collection } from "./collection.js";

/** What operations can be made from; a template is known by its name. */
export const templates = new Collection("templates", (item) => make("div.template",
  make("span.main", item.title), make("span.sub.mono", item.name), make("span.muted.wide-cell", item.parameters.join(", ")),
  make("span.number", `${item.lifetime} s`)));

templates.prepared = (item) => ({ ...item, id: item.name });
templates.searched = (item) => [item.name, item.title, ...item.parameters];
templates.load = async () => {
  const { items } = await ask("templates?limit=1000");
  templates.total = items.length;
  templates.replace(items);
};
