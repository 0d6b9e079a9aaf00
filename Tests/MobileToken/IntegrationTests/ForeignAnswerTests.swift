@testable import CommandLineSupport
import MobileToken
import PowerAuth
import Testing

/// Answers that are not the server's own, to every call that changes something: it may have been carried out, and nothing is believed.
@Suite(.timeLimit(.minutes(10))) struct ForeignAnswerTests {
    enum Place: CaseIterable {
        /// The server never sees the request.
        case beforeServer
        /// The server has carried it out.
        case behindServer
    }

    @Test(arguments: ForeignCall.all, Place.allCases)
    func nothingIsBelievedAndNothingIsCalledRefused(call: ForeignCall, place: Place) async throws {
        let first = try await ForeignSite(call)
        for answer in ForeignAnswer.all {
            let comment = Comment("\(answer)")
            let site = try await ForeignSite(again: first)
            let walk = try await call.prepare(site)
            site.answer(call.path, answer, forwards: place == .behindServer)
            let error = try await ForeignSite.error(of: walk)
            site.letThrough()
            // The encrypted status, or a look at the operation, may have shown that it was done.
            guard let error else {
                #expect(call.isProven && place == .behindServer, comment)
                continue
            }
            #expect(ExitCode(error) == .unavailable, "\(answer): \(error)")
            #expect(error.failureKind == .unknown, "\(answer): \(error)")
            #expect(error.isPassing, "\(answer): \(error)")
            let cause = error.code == .outcomeUnknown ? error.underlying as? MobileTokenError : error
            #expect(answer.codes.contains(cause?.code ?? error.code), "\(answer): \(error)")
            #expect((error.code == .outcomeUnknown) == (call.decides && call.isProven), "\(answer): \(error)")
            #expect(try await call.isUnbelieved(site), comment)
            // Nothing that the server has not seen was followed, and nothing is an end of it.
            for result in try await site.results() {
                let isOpen =
                    switch result {
                    case .unanswered, .doubtful: true
                    case .followed: place == .behindServer
                    default: false
                    }
                #expect(isOpen, "\(answer): the receipt says \(result)")
            }
            // After a decision it would wait for as long as that may arrive.
            if place == .beforeServer, !call.decides { try await site.activation.validate(.possession) }
        }
    }

    /// A call that only reads could not be asked.
    @Test func aReadingCallCouldNotBeAsked() async throws {
        let site = try await ForeignSite(.remove)
        for answer in ForeignAnswer.all {
            for path in ["/operation/list", "/user/info", "/activation/status"] {
                site.answer(path, answer, forwards: true)
                let error = try await ForeignSite.error {
                    switch path {
                    case "/operation/list": _ = try await site.service.operations()
                    case "/user/info": _ = try await site.activation.userInfo()
                    default: _ = try await site.activation.status()
                    }
                }
                #expect(error.map { ExitCode($0) } == .unavailable, "\(path) \(answer)")
                #expect(error?.isPassing == true && error?.failureKind == .unknown, "\(path) \(answer)")
            }
        }
    }

    @Test func thereAreEnoughAnswersAndNamesAreUnique() {
        #expect(ForeignAnswer.all.count >= 70)
        #expect(Set(ForeignAnswer.all.map(\.description)).count == ForeignAnswer.all.count)
    }
}
