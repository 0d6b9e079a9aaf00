package import DecisionReceipts

extension ReceiptArchive {
    /// Verifies every line of the archive against the earlier ones.
    ///
    /// - Parameter devicePublicKeys: Independently known keys by activation, compressed: signatures of these activations must be
    ///   by them.
    /// - Throws: ``MobileTokenError`` if a file is unreadable. The result has the fault of a line.
    public func verify(devicePublicKeys: [String: [UInt8]] = [:]) throws -> ReceiptVerification {
        try Self.verify(files: self.files(), devicePublicKeys: devicePublicKeys)
    }

    /// Verifies every line of consecutive files; see ``verify(devicePublicKeys:)``.
    public nonisolated static func verify(
        files: [String],
        devicePublicKeys: [String: [UInt8]] = [:]
    ) throws -> ReceiptVerification {
        var chain = ReceiptChain(devicePublicKeys: devicePublicKeys)
        var verification = ReceiptVerification()
        do {
            for (index, path) in files.enumerated() {
                var file = try ReceiptFile(path: path, isWritable: false)
                verification.tornByteCount = try chain.add(&file, isLast: index == files.count - 1)
            }
        } catch let fault as ReceiptFault {
            verification.fault = fault
        }
        verification.counts = chain.counts
        verification.firstNumber = chain.firstNumber
        verification.lastNumber = chain.latest?.number
        verification.head = chain.head
        verification.signatures = chain.signatures
        return verification
    }
}

extension ReceiptArchive {
    /// Reads the receipts in the files, oldest first, each with its latest outcome, and verifies every line.
    ///
    /// - Throws: ``ReceiptFault`` for the first changed line, or an error if a file is unreadable.
    package func receipts() throws -> [DecisionReceipt] {
        let files = try self.files()
        var chain = ReceiptChain()
        var (intents, outcomes) = ([(number: UInt64, intent: DecisionReceipt.Intent)](), [UInt64: DecisionOutcome]())
        for path in files {
            var file = try ReceiptFile(path: path, isWritable: false)
            _ = try chain.add(&file, isLast: path == files.last) { line in
                guard case .entry(let entry) = line.content else { return }
                switch entry.content {
                case .intent(let intent): intents.append((entry.number, intent))
                case .outcome(let outcome, let intent): outcomes[intent] = outcome
                case .unreadable: break
                }
            }
        }
        return intents.map { DecisionReceipt(number: $0.number, intent: $0.intent, outcome: outcomes[$0.number]) }
    }
}
