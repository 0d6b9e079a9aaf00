import { $, confirmButton, copyButton, facts, make, toast } from "./dom.js";
import { ask, download, forgetCredentials, setCredentials } from "./server.js";

const names = {
  baseURL: "Base URL", sdkConfiguration: "SDK configuration", applicationId: "Application", applicationKey: "Application key",
  applicationSecret: "Application secret", masterServerPublicKey: "Master public key", cloudUser: "/v2 user", cloudPassword: "/v2 password",
};

/** What holds keys is shown to those who know the password: others may use the machine. */
export async function loadConfiguration() {
  const { isAuthenticated } = await ask("access");
  $("unlock").hidden = isAuthenticated;
  for (const id of ["configuration-card", "command-heading", "command", "export"]) $(id).hidden = !isAuthenticated;
  if (!isAuthenticated) return;
  const configuration = await ask("configuration");
  $("configuration").replaceChildren(...facts(Object.entries(names).map(([key, name]) => [name, configuration[key], "copy"])).children);
  const command = `mobile-token activate CODE \\\n  --url ${configuration.baseURL} \\\n  --sdk-configuration ${configuration.sdkConfiguration}`;
  $("command").replaceChildren(make("pre", {}, command), make("div", { class: "buttons" }, copyButton(command, "Copy")));
}

$("unlock").addEventListener("submit", async (event) => {
  event.preventDefault();
  const error = $("unlock").querySelector(".error");
  error.textContent = "";
  setCredentials($("unlock-user").value, $("unlock-password").value);
  try {
    await loadConfiguration();
    if (!$("unlock").hidden) throw new Error("The server does not know this user and password.");
    $("unlock-password").value = "";
  } catch (failure) {
    forgetCredentials();
    error.textContent = failure.message;
  }
});

$("export").addEventListener("click", async () => {
  $("state-error").textContent = "";
  try {
    const link = make("a", { href: URL.createObjectURL(await download("export")), download: "emulator-state.json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } catch (failure) {
    $("state-error").textContent = failure.message;
  }
});

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
