import { root } from "./server.js";

export const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
// What curl says by itself, and what belongs to one connection.
const ownHeaders = new Set(["host", "content-length", "connection", "accept-encoding", "transfer-encoding", "expect"]);

/** A body that the journal had to cut is not the one that was sent. */
export const isWhole = (entry) => !/… \(\d+ bytes\)$/.test(entry.body);

/** Basic credentials are not in the journal: the command names their variable. */
export function curlCommand(entry) {
  const path = `${entry.path}${entry.query ? `?${entry.query}` : ""}`;
  // Joined as text: a path that begins with two slashes would name another host to a URL.
  const own = () => root.origin + root.pathname.replace(/\/$/, "") + (path.startsWith("/") ? "" : "/") + path;
  const address = entry.deliveryId === undefined ? own() : path;
  // Whoever can connect chooses the method: only a word stays bare, and no part is a pattern of addresses to curl.
  const method = /^[A-Za-z]+$/.test(entry.method) ? entry.method : quoted(entry.method);
  const lines = [`curl ${/[[\]{}]/.test(address) ? "--globoff " : ""}-X ${method} ${quoted(address)}`];
  for (const { name, value } of entry.headers) {
    if (ownHeaders.has(name.toLowerCase())) continue;
    if (name.toLowerCase() === "authorization") lines.push('-u "$CLOUD_USER:$CLOUD_PASSWORD"');
    else lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  }
  if (entry.body) lines.push(`--data-raw ${quoted(entry.body)}`);
  return lines.join(" \\\n  ");
}

/** A request of this page's own as a command. */
export const postCommand = (path, body) =>
  `curl -X POST ${quoted(new URL(path, root).href)} \\\n  -H 'Content-Type: application/json' \\\n  -d ${quoted(JSON.stringify(body))}`;
