import { choice, make } from "./dom.js";
import { ask, at } from "./server.js";
import { action, qrCode, refreshDetails } from "./details.js";
import { activations } from "./activations.js";

/** A QR code that a client scans without a network, and a field for the code that it answers with. */
export class OfflineApproval {
  constructor(operationId, operation) {
    Object.assign(this, { operationId, operation });
    this.path = at`cloud/operations/${operationId}/offline`;
  }

  get choices() {
    const { userId } = this.operation();
    return [...activations.items.values()].filter((one) => one.status === "ACTIVE" && one.userId === userId);
  }

  async start() {
    const registration = this.chosen ?? this.choices[0]?.id;
    this.failure = this.verdict = undefined;
    try {
      const code = await ask(`${this.path}/qr${registration ? at`?registrationId=${registration}` : ""}`);
      this.code = { ...code, registration };
    } catch (failure) {
      this.failure = failure.message;
    }
    this.refresh();
  }

  async verify(otp) {
    const { nonce, registration } = this.code;
    const answer = await ask(`${this.path}/otp`, { otp, nonce, registrationId: registration });
    this.verdict = answer.otpValid ? "The code is right." : `The code is wrong; ${answer.remainingAttempts} more attempts.`;
    this.refresh();  // the form may have been drawn anew meanwhile
  }

  refresh() { refreshDetails(`operations/${this.operationId}`); }

  card() {
    const all = this.choices.map((one) => [one.id, `${one.name ?? "unnamed"} · ${one.id}`]);
    return make("div.card", make("h3", "Offline approval"),
      !all.length && make("p.hint", "The user has no active activation. A QR code for any device can be made, but its answer cannot be verified."),
      make("div.buttons",
        all.length > 0 && choice(all, this.chosen, { "aria-label": "For the activation", "data-action": "activation", oninput: ({ target }) => { this.chosen = target.value; } }),
        action("Offline QR code", () => this.start())),
      this.failure && make("p.error", this.failure),
      this.code && [qrCode(this.code.operationQrCodeData, "Offline QR code of the operation"),
        make("details", make("summary", "Content"), make("pre", this.code.operationQrCodeData)), this.code.registration && this.form()]);
  }

  form() {
    const check = action("Verify", () => this.verify(input.value.trim()));
    const input = make("input", { inputmode: "numeric", autocomplete: "off", placeholder: "12345678-12345678", "data-action": "code", required: true,
      onkeydown: (event) => { if (event.key === "Enter") check.click(); } });
    return make("div", make("label", "Code that the client shows", make("div.buttons", input, check)), make("p", { role: "status" }, this.verdict));
  }
}
