import CommandLineSupport
import DecisionReceipts
import ExactJSON
import Foundation
import MobileToken
import MobileTokenOffline
import MobileTokenScreens

enum OperationCommands {
    static let all = [list, watch, wait, show, approve, reject, claim, history, offline]

    private static let id = Command.Operand("ID", "the operation's identifier, as 'list' shows it, or its beginning")

    static let list = Command(
        "list",
        summary: "Show the operations that wait for a decision.",
        discussion: "Parts of the response that cannot be read are named on standard error; the rest is shown."
    ) { invocation in
        let session = try Session(invocation)
        let service = try await session.operations()
        let list = try await session.client.within(session.limit) { try await service.fetchList() }
        session.show(list)
        return .done
    }

    static let wait = Command(
        "wait",
        summary: "Wait until an operation is decided, or until one is listed.",
        discussion: """
            With an identifier: until that operation is off the list, and why is shown. Without: until the list has an
            operation, and the list is shown. The exit code is 10 when it does not happen in time. An operation that is listed and
            cannot be read ends the wait at once, with the reason and exit code 3.
            """,
        operands: [.init("ID", "the operation's identifier, or its beginning", isOptional: true)],
        options: [
            .init("within", "SECONDS", "the longest time to wait (default: 300)"),
            .init("interval", "SECONDS", "the time between requests, at least 5 (default: 7)"),
        ]
    ) { invocation in
        let session = try Session(invocation)
        let service = try await session.operations()
        let limit = try invocation.seconds("within") ?? .seconds(300)
        let interval = try invocation.seconds("interval") ?? .seconds(7)
        guard let id = invocation.operand(0) else {
            let list = try await service.waitForList(within: limit, pollingEvery: interval) { list in
                !list.operations.isEmpty || !list.unreadable.isEmpty
            }
            if list.operations.isEmpty, let operation = list.unreadable.first {
                throw MobileTokenError(.invalidResponse, "An operation is listed and cannot be read: \(operation)")
            }
            session.show(list)
            return .done
        }
        let whole = try await session.wholeID(id, from: service)
        let reason = try await service.waitUntilDecided(whole, within: limit, pollingEvery: interval)
        session.output.result(
            ["id": .string(whole), "reason": .string(reason.description)],
            text: "\(TextTable.printable(whole)): \(reason)"
        )
        return .done
    }

    static let watch = Command(
        "watch",
        summary: "Follow the list of operations until interrupted.",
        discussion: """
            On a terminal the list is redrawn; in a pipe, or with --json, each change is a line. Parts of the response that
            cannot be read are named below the list, or on standard error. What a command of --exec or a server of
            --forward-to does not take is named on standard error and not sent again: every change has the whole list.
            """,
        options: [.init("interval", "SECONDS", "the time between requests, at least 5 (default: 7)")]
            + ChangeForwarding.options
    ) { invocation in
        let session = try Session(invocation)
        let forwarding = try ChangeForwarding(invocation)
        let service = try await session.operations()
        let interval = try invocation.seconds("interval") ?? .seconds(7)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.poll(every: interval) }
            group.addTask {
                var view = WatchView(output: session.output)
                for await event in service.events() {
                    switch event {
                    case .changed(let change):
                        view.show(change)
                        await forwarding.forward(change)
                    case .failed(let error): view.show(error)
                    case .loading(true), .unreadable: break
                    case .loading(false):
                        // When all that is new cannot be read, nothing changes: so after each fetch.
                        if case .success(let list) = service.lastFetchResult { view.show(list.notRead) }
                    }
                }
            }
            try await group.next()
            group.cancelAll()
        }
        try Task.checkCancellation()
        return .done
    }

    static let show = Command("show", summary: "Show one operation.", operands: [id]) { invocation in
        let session = try Session(invocation)
        let operation = try await session.operation(invocation.required(0), from: session.operations())
        let review = OperationReview(of: operation)
        session.output.result(review.document, text: review.page)
        return .done
    }

    static let approve = Command(
        "approve",
        summary: "Approve an operation, with the factors that it requires.",
        discussion: """
            Shows the operation, the data to sign, and each doubt: an amount that is shown and not signed, a warning of the server,
            a part that could not be read. Accept each doubt by name with --accept; otherwise nothing is signed, and the exit code
            is 12.
            """,
        operands: [id],
        options: PasswordSource.options + [
            [OperationReview.Doubt].option,
            .init("device-signature", nil, "sign with the device's own key as well, for an asker who checks that"),
            .init(
                "proximity-code",
                "TEXT",
                "the one-time code that is shown where the operation began, or its link or QR code"
            ),
        ]
    ) { invocation in
        let session = try Session(invocation)
        let service = try await session.operations()
        var operation = try await session.operation(invocation.required(0), from: service)
        let review = OperationReview(of: operation)
        if !session.output.isJSON { Output.note(review.page) }
        operation.proximityCheck = try Self.proximityCheck(for: operation, invocation)
        try review.doubts(afterScanning: operation.proximityCheck != nil).requireAcceptance(by: invocation)
        let isSignedByDevice = invocation.has("device-signature")
        let isPossessionEnough = operation.allowedSignatureType.allows(.possession)
        let needsPassword = isSignedByDevice || !isPossessionEnough
        let authentication: Activation.Authentication =
            needsPassword
            ? .possessionAndKnowledge(password: try PasswordSource(invocation).read(prompt: "Password: "))
            : .possession
        if isSignedByDevice { operation = try await service.signedByDevice(operation, with: authentication) }
        let result = try await service.authorize(
            operation,
            with: isPossessionEnough ? .possession : authentication
        )
        session.output.outcome("approved", operation.id, result, operation.formData.resultTexts?.success)
        return .done
    }

    /// Returns an operation's proximity check. An operation that requires one is not signed without it, because the server would
    /// count a failed attempt.
    private static func proximityCheck(
        for operation: UserOperation,
        _ invocation: Invocation
    ) throws -> UserOperation.ProximityCheck? {
        let isNeeded = operation.ui?.preApprovalScreens.contains { $0.kind == .qrScan } ?? false
        guard let text = invocation["proximity-code"] else {
            guard !isNeeded || operation.proximityCheck != nil else {
                throw invocation.misuse(
                    "the operation is approved with the code that is shown where it began: give --proximity-code"
                )
            }
            return operation.proximityCheck
        }
        let code = ProximityCode(qrCode: text)
        guard code.map({ $0.operationID == operation.id }) ?? true, let totp = code.map(\.totp) ?? text, !totp.isEmpty
        else {
            throw invocation.misuse("--proximity-code is of another operation, or has no code")
        }
        return UserOperation.ProximityCheck(totp: totp, source: .qrCode)
    }

    static let reject = Command(
        "reject",
        summary: "Reject an operation.",
        operands: [id],
        options: [.init("reason", "TEXT", "UNKNOWN, INCORRECT_DATA, UNEXPECTED_OPERATION, or a word of your own")]
    ) { invocation in
        let session = try Session(invocation)
        let service = try await session.operations()
        let operation = try await session.operation(invocation.required(0), from: service)
        let result = try await service.reject(
            operation,
            reason: UserOperation.RejectionReason(rawValue: invocation["reason"] ?? "UNKNOWN")
        )
        session.output.outcome("rejected", operation.id, result, operation.formData.resultTexts?.reject)
        return .done
    }

    static let claim = Command(
        "claim",
        summary: "Claim an operation that has no user yet.",
        operands: [id]
    ) { invocation in
        let session = try Session(invocation)
        let service = try await session.operations()
        let id = try OperationName(invocation.required(0)).string
        let operation = try await session.finding("operation \(id)") { try await service.claim(id: id) }
        let review = OperationReview(of: operation)
        session.output.outcome(review.document, text: review.page)
        return .done
    }

    static let history = Command(
        "history",
        summary: "Show past operations, with their outcome: the latest 100 at most.",
        options: PasswordSource.options
    ) { invocation in
        let session = try Session(invocation)
        let service = try await session.operations()
        let password = try PasswordSource(invocation).read(prompt: "Password: ")
        session.show(try await service.history(authenticatedBy: .possessionAndKnowledge(password: password)))
        return .done
    }

    static let offline = Command(
        "offline",
        summary: "Compute the code that approves the operation of a QR code, without a network.",
        discussion: """
            The signature of the QR code is verified before anything of it is shown. What gets signed is shown with it, and each
            doubt must be accepted by name, as with 'approve'. A wrong password gives a code all the same: only the server can
            tell, and counts it as a failed attempt when the code is typed in there.
            """,
        operands: [.init("TEXT", "the content of the QR code, or - for standard input", isOptional: true)],
        options: PasswordSource.options + [[OperationReview.Doubt].option] + [
            .init("file", "FILE", "read the content of the QR code from a file"),
            .init("digits", "COUNT", "the digits in each group, 4 to 8, as the server is configured (default: 8)"),
        ]
    ) { invocation in
        let session = try Session(invocation, offlineCodeDigits: invocation.integer("digits", in: 4...8))
        let service = try await session.operations()
        let received = try OfflineOperation.Unverified(parsing: Self.content(ofQRCode: invocation))
        let operation = try service.verify(received)
        if !session.output.isJSON { Output.note(operation.page) }
        try operation.doubts.requireAcceptance(by: invocation)
        let password = try PasswordSource(invocation).read(prompt: "Password: ")
        let code = try await service.authorize(offline: received, with: .possessionAndKnowledge(password: password))
        session.output.result(["operationId": .string(operation.id), "code": .string(code)], text: code)
        return .done
    }

    private static func content(ofQRCode invocation: Invocation) throws -> String {
        let limit = 64 * 1024
        switch (invocation.operand(0), invocation["file"]) {
        case ("-", nil):
            guard !invocation.has("password-stdin") else {
                throw invocation.misuse("standard input can be the QR code or the password, not both")
            }
            return String(decoding: FileHandle.standardInput.readData(ofLength: limit), as: UTF8.self)
        case (let content?, nil): return content
        case (nil, let file?):
            guard let handle = FileHandle(forReadingAtPath: file) else {
                throw invocation.misuse("cannot read '\(file)'")
            }
            return String(decoding: handle.readData(ofLength: limit), as: UTF8.self)
        case (_?, _?), (nil, nil):
            throw invocation.misuse("give the content of the QR code, or --file")
        }
    }
}

extension Output {
    /// Shows a completed decision, with the bank's own text for it.
    fileprivate func outcome(
        _ verdict: String,
        _ operationID: String,
        _ result: DecisionOutcome.Result,
        _ resultText: String?
    ) {
        let isInferred = result == .inferred
        let end = isInferred ? ": the answer was lost, and the operation ended so" : ""
        self.outcome(
            .object([
                verdict: .string(operationID), "answerLost": .bool(isInferred), "resultText": .optional(resultText),
            ]),
            text: (["\(verdict.capitalized) \(TextTable.printable(operationID))\(end)."]
                + [resultText].compactMap { $0 }.map(TextTable.printable))
                .joined(separator: "\n")
        )
    }
}
