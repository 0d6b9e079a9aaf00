import { make } from "./dom.js";
import { ask } from "./server.js";
import { action, qrCode, refreshDetails } from "./details.js";
import { activations } from "./activations.js";

/** Approval without a network: a QR code that a client scans, and the place to type in the code it answers with. */
export class OfflineApproval {
  constructor(operationID, operation) {
    Object.assign(this, { operationID, operation });
    this.path = `cloud/operations/${encodeURIComponent(operationID)}/offline`;
  }

  get choices() {
    const userID = this.operation().userID;
    return [...activations.items.values()].filter((one) => one.status === "ACTIVE" && one.userID === userID);
  }

  /** Makes a QR code for the chosen activation, or the only one there is. */
  async start() {
    const registration = this.chosen ?? this.choices[0]?.id;
    this.failure = undefined;
    this.verdict = undefined;
    try {
      const code = await ask(`${this.path}/qr${registration ? `?registrationId=${encodeURIComponent(registration)}` : ""}`);
      this.code = { ...code, registration };
    } catch (failure) {
      this.failure = failure.message;
    }
    refreshDetails(`operations/${this.operationID}`);
  }

  async verify(otp) {
    const { nonce, registration } = this.code;
    const answer = await ask(`${this.path}/otp`, { method: "POST", body: { otp, nonce, registrationId: registration } });
    this.verdict = answer.otpValid ? "The code is right." : `The code is wrong; ${answer.remainingAttempts} more attempts.`;
  }

  card() {
    const choices = this.choices;
    const card = make("div", { class: "card" }, make("h3", {}, "Offline approval"));
    if (choices.length) {
      const choice = make("select", { "aria-label": "For the activation", "data-action": "activation", oninput: () => { this.chosen = choice.value; } },
        ...choices.map((one) => make("option", { value: one.id, selected: one.id === this.chosen }, `${one.name ?? "unnamed"} · ${one.id}`)));
      card.append(make("div", { class: "buttons" }, choice, action("Offline QR code", () => this.start())));
    } else {
      card.append(
        make("p", { class: "hint" }, "The user has no active activation. A QR code for any device can be made, but its answer cannot be verified."),
        make("div", { class: "buttons" }, action("Offline QR code", () => this.start())));
    }
    if (this.failure) card.append(make("p", { class: "error" }, this.failure));
    if (this.code) {
      card.append(qrCode(this.code.operationQrCodeData, "Offline QR code of the operation"),
        make("details", {}, make("summary", {}, "Content"), make("pre", {}, this.code.operationQrCodeData)));
      if (this.code.registration) card.append(this.form());
    }
    return card;
  }

  form() {
    const input = make("input", { inputmode: "numeric", autocomplete: "off", placeholder: "12345678-12345678", "data-action": "code", required: true });
    const check = action("Verify", async () => {
      await this.verify(input.value.trim());
      refreshDetails(`operations/${this.operationID}`);  // this form may have been drawn anew meanwhile
    });
    const verdict = make("p", { role: "status" }, this.verdict ?? "");
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") check.click(); });
    return make("div", {}, make("label", {}, "Code that the client shows", make("div", { class: "buttons" }, input, check)), verdict);
  }
}
