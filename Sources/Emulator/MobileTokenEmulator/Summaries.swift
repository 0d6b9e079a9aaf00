import CloudCalls
import EmulatorBackend
import ExactJSON
import Foundation
import MobileTokenCloud
import PowerAuthProtocol

/// A part of a list, with the length of the whole list.
struct SummaryPage<Summary: Sendable>: Sendable {
    var items: [Summary] = []
    var total = 0

    /// Summarizes only the elements within the bounds.
    init<Elements: Sequence>(_ elements: Elements, _ bounds: PageBounds, _ summarize: (Elements.Element) -> Summary) {
        for element in elements {
            if self.total >= bounds.offset, self.items.count < bounds.limit { self.items.append(summarize(element)) }
            self.total += 1
        }
    }
}

/// The summaries that the console and ``Emulator`` show. Lists are newest first.
extension Backend {
    // MARK: Activations

    var activations: [Emulator.ActivationSummary] { self.activationPage(.init()).items }

    func activationPage(
        status: ServerActivation.Status? = nil,
        _ bounds: PageBounds
    ) -> SummaryPage<Emulator.ActivationSummary> {
        let activations = self.state.activations.newestFirst.lazy.filter {
            status == nil || $0.status == status
        }
        return SummaryPage(activations, bounds, self.summary(of:))
    }

    func activation(_ id: String) -> Emulator.ActivationSummary? {
        self.state.activations[id].map(self.summary(of:))
    }

    private func summary(of activation: ServerActivation) -> Emulator.ActivationSummary {
        let pushDevice = self.state.devices[activation.id]
        return Emulator.ActivationSummary(
            id: activation.id,
            userID: activation.userID,
            applicationID: activation.applicationID,
            name: activation.name,
            status: .init(rawValue: activation.status.rawValue),
            version: activation.protocolVersion,
            suite: activation.suite,
            flags: self.statusFlags(of: activation),
            blockExpires: activation.blockExpires.map(Date.init(milliseconds:)),
            fingerprint: activation.fingerprint,
            counter: activation.steps,
            failedAttempts: activation.failedAttempts,
            maximumFailedAttempts: activation.maximumFailedAttempts,
            activationQRCode: activation.status == .created ? activation.offer?.qrCode : nil,
            created: Date(milliseconds: activation.created),
            pushPlatform: pushDevice?.platform,
            pushToken: pushDevice?.token
        )
    }

    // MARK: Operations

    func operations(at now: Date) -> [Emulator.OperationSummary] { self.operationPage(.init(), at: now).items }

    func operationPage(
        status: ServerOperation.Status? = nil,
        _ bounds: PageBounds,
        at now: Date
    ) -> SummaryPage<Emulator.OperationSummary> {
        let operations = self.state.operations.newestFirst.lazy.filter { status == nil || $0.status == status }
        return SummaryPage(operations, bounds) { self.summary(of: $0, at: now) }
    }

    func operation(_ id: String, at now: Date) -> Emulator.OperationSummary? {
        self.state.operations[id].map { self.summary(of: $0, at: now) }
    }

    private func summary(of operation: ServerOperation, at now: Date) -> Emulator.OperationSummary {
        let formData = self.formData(of: operation)
        return Emulator.OperationSummary(
            id: operation.id,
            userID: operation.userID,
            name: operation.type,
            title: formData?["title"]?.string ?? operation.type,
            formData: formData,
            data: operation.data,
            status: .init(rawValue: operation.status.rawValue),
            statusReason: operation.statusReason,
            rejectReason: operation.rejectReason,
            failureCount: operation.failures,
            maximumFailureCount: operation.maximumFailures,
            created: Date(milliseconds: operation.created),
            expires: Date(milliseconds: operation.expires),
            proximityCode: operation.status == .pending
                ? self.proximityCode(of: operation)?.string(at: now.milliseconds) : nil
        )
    }

    // MARK: Templates

    /// The templates by name.
    var templates: [Emulator.TemplateSummary] {
        self.operationTemplates.sorted.map { template in
            let title = template.formData["title"]?.string ?? template.name
            let texts = template.texts[ReaderLocale.english.language] ?? [:]
            let shown = Placeholders.parts(of: title).map { part in
                switch part {
                case .literal(let string): string
                case .parameter(let name): "${\(name)}"
                case .text(let name): texts[name] ?? name
                }
            }
            return Emulator.TemplateSummary(
                name: template.name,
                title: shown.joined(),
                parameters: template.parameters,
                defaults: template.examples.compactMapValues { $0.string ?? $0.number?.literal },
                lifetime: template.lifetime ?? self.limits.operationLifetime,
                demandsProximityCheck: template.demandsProximityCheck
            )
        }
    }

    // MARK: Messages

    var messages: [Emulator.MessageSummary] { self.messagePage(.init()).items }

    func messagePage(_ bounds: PageBounds) -> SummaryPage<Emulator.MessageSummary> {
        SummaryPage(self.state.inbox.newestFirst, bounds, Self.summary(of:))
    }

    func message(_ id: String) -> Emulator.MessageSummary? {
        self.state.inbox[id].map(Self.summary(of:))
    }

    private static func summary(of message: ServerInboxMessage) -> Emulator.MessageSummary {
        Emulator.MessageSummary(
            id: message.id,
            userID: message.userID,
            type: message.format.rawValue,
            subject: message.subject,
            summary: message.summary,
            body: message.body,
            isRead: message.isRead,
            created: Date(milliseconds: message.created)
        )
    }
}
