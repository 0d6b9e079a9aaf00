import { $, confirmButton, copyButton, facts, make, tried } from "./dom.js";
import { ask, download, forgetCredentials, setCredentials } from "./server.js";

const names = {
  baseURL: "Base URL", sdkConfiguration: "SDK configuration", applicationId: "Application", applicationKey: "Application key",
  applicationSecret: "Application secret", masterServerPublicKey: "Master public key", cloudUser: "/v2 user", cloudPassword: "/v2 password",
};

/** What holds keys is shown to those who know the password: others may use the machine. */
export async function loadConfiguration() {
  const { isAuthenticated, user } = await ask("access");
  if (!$("unlock-user").value) $("unlock-user").value = user ?? "";
  $("unlock").hidden = isAuthenticated;
  for (const id of ["configuration-card", "command-heading", "command", "export"]) $(id).hidden = !isAuthenticated;
  if (!isAuthenticated) return;
  const configuration = await ask("configuration");
  $("configuration").replaceChildren(...facts(Object.entries(names).map(([key, name]) => [name, configuration[key], "copy"])).children);
  const command = `mobile-token activate CODE \\\n  --url ${configuration.baseURL} \\\n  --sdk-configuration ${configuration.sdkConfiguration}`;
  $("command").replaceChildren(make("pre", command), make("div.buttons", copyButton(command)));
}

$("unlock").onsubmit = async (event) => {
  event.preventDefault();
  setCredentials($("unlock-user").value, $("unlock-password").value);
  const isKnown = await tried($("unlock").querySelector(".error"), async () => {
    await loadConfiguration();
    if (!$("unlock").hidden) throw new Error("The server does not know this user and password.");
  });
  if (isKnown) $("unlock-password").value = ""; else forgetCredentials();
};

const change = (perform, done) => tried($("state-error"), perform, done);

$("export").onclick = () => change(async () => {
  const link = make("a", { href: URL.createObjectURL(await download("export")), download: "emulator-state.json" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
});
$("reset-place").replaceWith(confirmButton("Reset", "Forget everything?", () => change(() => ask("reset", undefined, "POST"), "Back to the state at the start")));
$("import").onclick = () => $("import-file").click();
$("import-file").onchange = async ({ target }) => {
  const [file] = target.files;
  if (file) await change(async () => ask("import", await file.text()), "Imported");
  target.value = "";
};
