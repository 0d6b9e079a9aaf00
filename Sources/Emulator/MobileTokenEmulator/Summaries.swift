import EmulatorBackend
import ExactJSON
import Foundation
import MobileTokenCloud

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

    var activations: [Emulator.ActivationSummary] { self.activationPage().items }

    func activationPage(
        _ filter: StatusFilter<ServerActivation.Status> = .init(),
        _ bounds: PageBounds = .init()
    ) -> SummaryPage<Emulator.ActivationSummary> {
        let activations = self.state.activations.newestFirst.lazy.filter { filter.has($0.status, of: $0.userID) }
        return SummaryPage(activations, bounds, self.summary(of:))
    }

    func activation(_ id: String) -> Emulator.ActivationSummary? {
        self.state.activations[id].map(self.summary(of:))
    }

    private func summary(of activation: ServerActivation) -> Emulator.ActivationSummary {
        .init(
            registration: CloudClient.Registration(self, activation),
            inner: .init(counter: activation.steps, statusFlags: self.statusFlags(of: activation))
        )
    }

    // MARK: Operations

    func operations(at now: Date) -> [Emulator.OperationSummary] { self.operationPage(at: now).items }

    func operationPage(
        _ filter: StatusFilter<ServerOperation.Status> = .init(),
        _ bounds: PageBounds = .init(),
        at now: Date
    ) -> SummaryPage<Emulator.OperationSummary> {
        let operations = self.state.operations.newestFirst.lazy.filter { filter.has($0.status, of: $0.userID) }
        return SummaryPage(operations, bounds) { self.summary(of: $0, at: now) }
    }

    func operation(_ id: String, at now: Date) -> Emulator.OperationSummary? {
        self.state.operations[id].map { self.summary(of: $0, at: now) }
    }

    private func summary(of operation: ServerOperation, at now: Date) -> Emulator.OperationSummary {
        let formData = self.formData(of: operation)
        return .init(
            operation: CloudClient.Operation(self, operation, at: now.milliseconds),
            shown: .init(
                title: formData?["title"]?.string ?? operation.type,
                formData: formData,
                rejectReason: operation.rejectReason
            )
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
        .init(
            message: CloudClient.Message(message),
            owner: .init(userID: message.userID, replayed: message.userID, isRead: message.isRead)
        )
    }
}
