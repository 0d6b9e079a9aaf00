// The control API, as this page asks it.

export const api = new URL("../_emulator/", document.baseURI);
// The page's address may carry credentials; no request may be made for such a one, and the browser adds them anyway.
api.username = api.password = "";

/** As clients ask for it: with a region, servers write amounts in the currency of the region. */
export const ownLanguage = (navigator.language || "en").split("-")[0];

/** Where the server is, or the space of it that this page is of. */
export const root = new URL("../", api);

// What was typed into the page, for as long as its tab is open.
const credentials = "credentials";

export function setCredentials(user, password) {
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  sessionStorage.setItem(credentials, btoa(String.fromCharCode(...bytes)));
}

export function forgetCredentials() { sessionStorage.removeItem(credentials); }

/** A path with values in it, whatever is in these: at`devices/${id}`. */
export const at = ([first, ...others], ...values) => first + others.map((text, index) => encodeURIComponent(values[index]) + text).join("");

async function send(path, body, method = body === undefined ? "GET" : "POST") {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  const known = sessionStorage.getItem(credentials);
  if (known) headers.Authorization = `Basic ${known}`;
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  let response;
  try {
    response = await fetch(new URL(path, api), { method, headers, body: text });
  } catch {
    throw new Error(path.startsWith("cloud/")
      ? "No answer. The server has stopped, or a fault rule strikes /v2."
      : "No answer. The server has stopped.");
  }
  if (response.ok) return response;
  const refusal = await response.json().catch(() => ({}));
  throw new Error(refusal.responseObject?.message ?? `The server answered ${response.status}.`);
}

/** Asks the server, with a body by POST unless another method is given; throws its message when it refuses. */
export const ask = async (...request) => (await send(...request)).json().catch(() => ({}));

/** The same with numbers as texts, so that 100.00 stays what it is where it is shown. */
export const askExact = async (...request) =>
  JSON.parse(await (await send(...request)).text(), (key, value, context) => (typeof value === "number" ? context?.source ?? value : value));

/** Leaves out what tells nothing new when it fails: the stream's end says that the server has gone. */
export const quietly = (asked) => asked.catch(() => {});

/** Fetches a document as it is: a script would round its long numbers. */
export const download = async (path) => (await send(path)).blob();

export const qrURL = (text) => new URL(at`qr?text=${text}`, api).href;

export function follow(handlers, { connected, lost }) {
  const events = new EventSource(new URL("events", api));
  for (const [kind, handle] of Object.entries(handlers)) {
    events.addEventListener(kind, (event) => handle(JSON.parse(event.data)));
  }
  events.addEventListener("ready", connected);
  events.addEventListener("error", lost);
  // A page kept for the back button would keep its connection, of which a browser has six for one server.
  addEventListener("pagehide", () => events.close());
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}
