import { $, make, options, toast } from "./dom.js";
import { ask } from "./server.js";
import { onOpen, onSubmit, openDialog } from "./dialogs.js";
import { Collection } from "./collection.js";
import { operations } from "./operations.js";
import { showOperation } from "./operation.js";

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

// ---- The form of a new operation ----

const parameterFields = () => $("operation-parameters").querySelectorAll("input");

export function offerTemplates() {
  const all = [...templates.items.values()].reverse().map(({ name, title }) => [name, `${name} – ${title}`]);
  $("operation-template").replaceChildren(...options(all, $("operation-template").value));
  chooseTemplate();
}

export function newOperation(template, parameters) {
  $("operation-template").value = template;
  chooseTemplate();
  for (const input of parameterFields()) input.value = parameters[input.name] ?? "";
  openDialog($("new-operation"));
}

function chooseTemplate() {
  const template = templates.find($("operation-template").value);
  $("operation-parameters").replaceChildren(make("legend", "Parameters"),
    ...(template?.parameters ?? []).map((name) => make("label", name, make("input", { name, placeholder: template.defaults[name] ?? "" }))));
  $("operation-lifetime").placeholder = template?.lifetime ?? "";
  $("operation-proximity").checked = template?.demandsProximityCheck ?? false;
}

function chooseRecipient() {
  $("operation-user").disabled = $("operation-anybody").checked;
  $("operation-user").required = !$("operation-anybody").checked;
}

$("operation-template").oninput = chooseTemplate;
$("operation-anybody").oninput = chooseRecipient;
onOpen($("new-operation"), chooseRecipient);

onSubmit($("new-operation"), async (button) => {
  const body = {
    template: $("operation-template").value, proximityCheckEnabled: $("operation-proximity").checked,
    parameters: Object.fromEntries([...parameterFields()].filter((one) => one.value !== "").map((one) => [one.name, one.value])),
    userId: $("operation-anybody").checked ? undefined : $("operation-user").value.trim(),
    appId: $("operation-application").value || undefined,
    expiresIn: $("operation-lifetime").value ? Number($("operation-lifetime").value) : undefined,
  };
  const { operationId } = await ask("cloud/operations", body);
  toast("Operation created");
  if (button !== "offline") return;
  await operations.add(operationId);
  showOperation(operationId, { offline: true });
});
