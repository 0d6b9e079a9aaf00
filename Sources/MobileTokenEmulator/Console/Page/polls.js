// A device that asks again and again is one row: half of a journal is nothing else.

const isPoll = (entry) => entry.isAccepted && !entry.fault && !entry.warnings?.length
  && /\/(operation\/list|inbox\/(count|message\/list)|activation\/status|pa\/v\d\/status|token\/app\/operation\/history)$/.test(entry.path)
  || entry.method === "GET" && entry.isAccepted && /\/v2\/operations\/[^/]+$/.test(entry.path);

/**
 * Rows for entries, newest first: `{key, entry, count}`. What the same device asks for between two other requests is
 * one, named after its oldest, so that it stays the same row while it grows.
 */
export function groupPolls(entries, isGrouping) {
  const rows = [];
  let run = new Map();
  for (const entry of entries) {
    if (!isGrouping || !isPoll(entry)) {
      run = new Map();
      rows.push({ key: entry.id, entry, count: 1 });
      continue;
    }
    const name = `${entry.method} ${entry.path} ${entry.activationID}`;
    const row = run.get(name);
    if (row) {
      row.count += 1;
      row.key = entry.id;
    } else {
      const made = { key: entry.id, entry, count: 1 };
      run.set(name, made);
      rows.push(made);
    }
  }
  return rows.map(kept);
}

const known = new Map();  // rows by key, so that one that has not changed is not drawn anew

function kept(row) {
  const former = known.get(row.key);
  if (former?.entry === row.entry && former.count === row.count) return former;
  if (known.size > 20000) known.clear();
  known.set(row.key, row);
  return row;
}
