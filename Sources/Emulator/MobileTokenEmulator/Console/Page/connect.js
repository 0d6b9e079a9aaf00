import { $, button, command, confirmButton, facts, make, tried } from "./dom.js";
import { offerApplications } from "./lists.js";
import { ask, download, forgetCredentials, root, setCredentials } from "./server.js";
import { quoted } from "./curl.js";

const names = {
  baseURL: "Base URL", sdkConfiguration: "SDK configuration", applicationId: "Application", applicationKey: "Application key",
  applicationSecret: "Application secret", masterServerPublicKey: "Master public key", cloudUser: "/v2 user", cloudPassword: "/v2 password",
};

/** What holds keys is shown to those who know the password: others may use the machine. */
export async function loadConfiguration() {
  const { isAuthenticated, user, applications } = await ask("access");
  offerApplications(applications, true);
  if (!$("unlock-user").value) $("unlock-user").value = user ?? "";
  $("unlock").hidden = isAuthenticated;
  for (const id of ["configuration-card", "command-heading", "command", "export"]) $(id).hidden = !isAuthenticated;
  if (!isAuthenticated) return;
  const configuration = await ask("configuration");
  $("configuration").replaceChildren(...facts(Object.entries(names).map(([key, name]) => [name, configuration[key], "copy"])).children);
  showTexts(configuration);
}

let chosen = ".env";

/** What is copied into a back end, its tests or a shell. The names are those that `exec` sets. */
function showTexts(configuration) {
  const { baseURL, sdkConfiguration, applicationId, cloudUser, cloudPassword } = configuration;
  const url = root.href.replace(/\/$/, "");
  const settings = [["url", baseURL], ["sdk-configuration", sdkConfiguration], ["cloud-url", url], ["cloud-user", cloudUser], ["cloud-password", cloudPassword], ["application-id", applicationId]];
  const variable = (name) => `MOBILE_TOKEN_${name.replaceAll("-", "_").toUpperCase()}`;
  const texts = {
    ".env": settings.map(([name, value]) => `${variable(name)}=${value}`).join("\n"),
    Spring: `# application.properties\n${settings.map(([name, value]) => `mobile-token.${name}=${value}`).join("\n")}`,
    pytest: `MOBILE_TOKEN_EMULATOR_URL=${quoted(url)} \\\nMOBILE_TOKEN_CLOUD_USER=${quoted(cloudUser)} MOBILE_TOKEN_CLOUD_PASSWORD=${quoted(cloudPassword)} \\\npytest`,
    curl: `curl -u ${quoted(`${cloudUser}:${cloudPassword}`)} -X POST ${quoted(`${url}/v2/operations`)} \\\n  -H 'Content-Type: application/json' \\\n  -d '{"template":"login","userId":"alice"}'`,
    "mobile-token": `# with the code of a new activation in place of CODE\nmobile-token activate CODE \\\n  --url ${baseURL} \\\n  --sdk-configuration ${sdkConfiguration}`,
  };
  const tab = (name) => button(name, () => { chosen = name; showTexts(configuration); $("command").querySelector("[aria-pressed=true]").focus(); }, { "aria-pressed": String(name === chosen) });
  $("command").replaceChildren(make("div.segments", { role: "group", "aria-label": "For" }, Object.keys(texts).map(tab)), command(texts[chosen], chosen));
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
