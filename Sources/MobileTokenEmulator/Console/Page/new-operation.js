import { $, make, toast } from "./dom.js";
import { ask } from "./server.js";
import { onOpen, onSubmit, openDialog } from "./dialogs.js";
import { templates } from "./templates.js";
import { operations } from "./operations.js";
import { showOperation } from "./operation.js";

/** Offers the templates there are. */
export function offerTemplates() {
  const chosen = $("operation-template").value;
  $("operation-template").replaceChildren(...templates.items.map((template) =>
    make("option", { value: template.name, selected: template.name === chosen }, `${template.name} – ${template.title}`)));
  chooseTemplate();
}

/** Opens the form with a template and values for its placeholders. */
export function newOperation(template, parameters) {
  $("operation-template").value = template;
  chooseTemplate();
  for (const input of $("operation-parameters").querySelectorAll("input")) input.value = parameters[input.name] ?? "";
  openDialog($("new-operation"));
}

function chooseTemplate() {
  const template = templates.items.find((one) => one.name === $("operation-template").value);
  $("operation-parameters").replaceChildren(
    make("legend", {}, "Parameters"),
    ...(template?.parameters ?? []).map((name) =>
      make("label", {}, name, make("input", { name, autocomplete: "off", placeholder: template.defaults[name] ?? "" }))));
  $("operation-lifetime").placeholder = template?.lifetime ?? "";
  $("operation-proximity").checked = template?.demandsProximityCheck ?? false;
}

function chooseRecipient() {
  const isForAnybody = $("operation-anybody").checked;
  $("operation-user").disabled = isForAnybody;
  $("operation-user").required = !isForAnybody;
}

$("operation-template").addEventListener("input", chooseTemplate);
$("operation-anybody").addEventListener("input", chooseRecipient);
onOpen($("new-operation"), chooseRecipient);

onSubmit($("new-operation"), async (button) => {
  const parameters = {};
  for (const input of $("operation-parameters").querySelectorAll("input")) if (input.value !== "") parameters[input.name] = input.value;
  const body = { template: $("operation-template").value, parameters, proximityCheckEnabled: $("operation-proximity").checked };
  if (!$("operation-anybody").checked) body.userId = $("operation-user").value.trim();
  if ($("operation-lifetime").value) body.expiresIn = Number($("operation-lifetime").value);
  const made = await ask("cloud/operations", { method: "POST", body });
  toast("Operation created");
  if (button === "offline") {
    await operations.add(made.operationId);
    showOperation(made.operationId, { offline: true });
  }
});
