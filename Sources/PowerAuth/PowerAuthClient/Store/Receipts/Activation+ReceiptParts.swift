import DecisionReceipts
package import Foundation

extension Activation {
    /// The local time with the precision of receipts.
    package nonisolated var localDate: Date { self.server.clocks.reading.wall.inWholeMilliseconds }

    /// Returns the device's ECDSA key in compressed form, as in signed receipts.
    package func compressedDevicePublicKey() async throws -> [UInt8] {
        try await self.withStoredDialect { try $0.devicePublicKey(of: try await self.storedRecord()) }
    }
}
