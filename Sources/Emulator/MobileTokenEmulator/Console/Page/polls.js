// A device that asks again and again is one row, and so are the tries of a callback: half of a journal is nothing else.

const isPoll = (entry) => entry.isAccepted && !entry.fault && !entry.warnings?.length
  && /\/(operation\/list|inbox\/(count|message\/list)|activation\/status|pa\/v\d\/status|token\/app\/operation\/history)$/.test(entry.path)
  || entry.method === "GET" && entry.isAccepted && /\/v2\/operations\/[^/]+$/.test(entry.path);

/**
 * Rows for entries, newest first: `{key, entry, count, first}`. What the same device asks for between two other requests is
 * one, named after its oldest, so that it stays the same row while it grows. The tries of a callback are one wherever they are.
 */
export function groupPolls(entries, isGrouping) {
  const rows = [];
  const tries = new Map();
  let run = new Map();
  for (const entry of entries) {
    const isTry = entry.deliveryId !== undefined;
    if (!isGrouping || !isTry && !isPoll(entry)) {
      run = new Map();
      rows.push({ key: entry.id, entry, count: 1 });
      continue;
    }
    const [known, name] = isTry ? [tries, entry.deliveryId] : [run, `${entry.method} ${entry.path} ${entry.activationId}`];
    const row = known.get(name);
    if (row) {
      row.count += 1;
      row.key = entry.id;
      row.first = entry.time;
    } else {
      const made = { key: entry.id, entry, count: 1 };
      if (isTry) run = new Map();
      known.set(name, made);
      rows.push(made);
    }
  }
  return rows.map(kept);
}

const former = new Map();  // rows by key, so that one that has not changed is not drawn anew

function kept(row) {
  const same = former.get(row.key);
  if (same?.entry === row.entry && same.count === row.count) return same;
  if (former.size > 20000) former.clear();
  former.set(row.key, row);
  return row;
}
