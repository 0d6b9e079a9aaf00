import Dispatch
import Foundation
import PowerAuthCrypto
import Testing

/// A process that ends while its other threads still compute, as a server does that is told to stop.
@Suite(.timeLimit(.minutes(5))) struct ProcessEndTests {
    @Test func workThatIsStillGoingOnEndsWithTheProcess() async {
        await #expect(processExitsWith: .success) {
            let started = DispatchGroup()
            for _ in 0..<8 {
                started.enter()
                Thread.detachNewThread {
                    _ = P256PrivateKey.generate()
                    started.leave()
                    while true { _ = P256PrivateKey.generate() }
                }
            }
            started.wait()
            exit(0)
        }
    }
}
