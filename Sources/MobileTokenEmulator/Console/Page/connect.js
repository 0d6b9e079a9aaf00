import { $, confirmButton, copyButton, facts, make, toast } from "./dom.js";
import { ask } from "./server.js";

const names = {
  baseURL: "Base URL", sdkConfiguration: "SDK configuration", applicationId: "Application", applicationKey: "Application key",
  applicationSecret: "Application secret", masterServerPublicKey: "Master public key", cloudUser: "/v2 user", cloudPassword: "/v2 password",
};

export async function loadConfiguration() {
  const configuration = await ask("configuration");
  $("configuration").replaceChildren(...facts(Object.entries(names).map(([key, name]) => [name, configuration[key], "copy"])).children);
  const command = `mobile-token activate CODE \\\n  --url ${configuration.baseURL} \\\n  --sdk-configuration ${configuration.sdkConfiguration}`;
  $("command").replaceChildren(make("pre", {}, command), make("div", { class: "buttons" }, copyButton(command, "Copy")));
}

async function change(path, options, done) {
  $("state-error").textContent = "";
  try {
    await ask(path, options);
    toast(done);
  } catch (failure) {
    $("state-error").textContent = failure.message;
  }
}

$("reset-place").replaceWith(confirmButton("Reset", "Forget everything?", () => change("reset", { method: "POST" }, "Back to the state at the start")));
$("import").addEventListener("click", () => $("import-file").click());
$("import-file").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (file) await change("import", { method: "POST", body: await file.text() }, "Imported");
  $("import-file").value = "";
});
