import { ask, askExact } from "./server.js";
import { journal } from "./journal.js";
import { deliveries } from "./callbacks.js";
import { momentsOf } from "./life.js";

/** What is told of one operation beside what the list knows: its requests, and how a device shows it. */
export class Story {
  constructor(id) { Object.assign(this, { id, entries: [], language: "", asked: 0 }); }

  /** Answers may overtake each other: that to the latest question counts. */
  async load() {
    const number = ++this.asked;
    const id = encodeURIComponent(this.id);
    const language = this.language || navigator.language || "";
    const [{ entries }, preview] = await Promise.all([
      ask(`journal?since=0&limit=1000&operation=${id}`),
      // There is none of an operation whose template is gone.
      askExact(`operations/${id}/preview?language=${encodeURIComponent(language)}`).catch(() => undefined),
    ]);
    if (number !== this.asked) return false;
    Object.assign(this, { entries, preview });
    return true;
  }

  /** What has been asked since, which the journal has heard of. */
  moments(item) {
    const last = this.entries.at(-1)?.id ?? 0;
    const newer = journal.entries.filter((entry) => entry.id > last && entry.operationIDs?.includes(this.id)).reverse();
    return momentsOf(item, [...this.entries, ...newer]);
  }

  get deliveries() {
    return [...deliveries.items.values()].filter((one) => one.operationID === this.id).reverse()
      .map((one) => ({ ...one, last: journal.entries.find((entry) => String(entry.deliveryID) === one.id)?.time ?? one.created }));
  }

  /** What a device shows; without a preview, what the operation says of itself. */
  shown(item) { return this.preview ?? { language: "en", languages: ["en"], operation: { formData: item.formData } }; }
}
