import Basics
import StoreTesting
import Testing

import PowerAuth
@testable import PowerAuthClient

struct SealingTests {
    private let sealing: Sealing
    private let record = ActivationStoreConformance.record("a")

    init() throws { self.sealing = try Sealing(key: SecretBytes(copying: Array(0..<32))) }

    private func code(of body: () throws -> Void) -> MobileTokenError.Code? {
        do { try body() } catch { return (error as? MobileTokenError)?.code }
        return nil
    }

    @Test func whatWasSealedOpens() throws {
        #expect(try self.sealing.open(self.sealing.seal(self.record)) == self.record)
        let sparse = ActivationStoreConformance.sparseRecord("b")
        #expect(try self.sealing.open(self.sealing.seal(sparse)) == sparse)
    }

    @Test func theSameRecordNeverLooksTheSameTwice() throws {
        let one = try self.sealing.seal(self.record)
        let other = try self.sealing.seal(self.record)
        for (field, again) in zip(one.fields, other.fields) where field.isSealed { #expect(field.bytes != again.bytes) }
        #expect(one.fields.filter(\.isSealed).count == 8)
    }

    @Test func noBitOfAnyFieldCanBeChanged() throws {
        let sealed = try self.sealing.seal(self.record)
        for (index, field) in sealed.fields.enumerated() {
            for position in 0...field.bytes.count {
                var fields = sealed.fields
                var bytes = field.bytes
                if position < bytes.count { bytes[position] ^= 1 } else { bytes.append(0) }
                fields[index] = .init(name: field.name, isSealed: field.isSealed, bytes: bytes)
                let changed = SealedActivation(activationID: "a", fields: fields)
                #expect(self.code { _ = try self.sealing.open(changed) } == .storeCorrupted)
            }
        }
    }

    @Test func noFieldMayBeMissing() throws {
        let sealed = try self.sealing.seal(self.record)
        // The biometry factor and tokens may be missing by right.
        for field in sealed.fields where field.name != "biometry-key" && !field.name.hasPrefix("token:") {
            let rest = SealedActivation(activationID: "a", fields: sealed.fields.filter { $0 != field })
            #expect(self.code { _ = try self.sealing.open(rest) } == .storeCorrupted, "\(field.name)")
        }
    }

    @Test func fieldsCannotTradePlacesOrMoveToAnotherActivation() throws {
        let sealed = try self.sealing.seal(self.record)
        let moved = SealedActivation(activationID: "b", fields: sealed.fields)
        #expect(self.code { _ = try self.sealing.open(moved) } == .storeCorrupted)
        let traded = sealed.fields.map { field in
            let names = ["possession-key": "transport-key", "transport-key": "possession-key"]
            return SealedActivation.Field(
                name: names[field.name] ?? field.name,
                isSealed: field.isSealed,
                bytes: field.bytes
            )
        }
        let exchanged = SealedActivation(activationID: "a", fields: traded)
        #expect(self.code { _ = try self.sealing.open(exchanged) } == .storeCorrupted)
    }

    @Test func movingTheCounterWritesOneField() throws {
        let sealed = try self.sealing.seal(self.record)
        let changes = try self.sealing.changes(of: sealed) { $0.takeMove() }
        #expect(changes.written.map(\.name) == ["counter"])
        #expect(changes.removed == [])
        #expect(try self.sealing.open(sealed.applying(changes)).history.moves == 507)
    }

    @Test func changingNothingWritesNothing() throws {
        let changes = try self.sealing.changes(of: self.sealing.seal(self.record)) { _ in }
        #expect(changes.written == [] && changes.removed == [])
    }

    @Test func anOpenFieldBringsItsTagAlong() throws {
        let sealed = try self.sealing.seal(self.record)
        let changes = try self.sealing.changes(of: sealed) { $0.version3?.knowledgeSalt = [1] }
        #expect(changes.written.map(\.name).sorted() == ["knowledge-salt", "open-fields-tag"])
        #expect(try self.sealing.open(sealed.applying(changes)).version3?.knowledgeSalt == [1])
    }

    @Test func valuesOfALaterVersionAreNotDropped() throws {
        for isSecret in [false, true] {
            var fields = RecordFields(self.record)
            if isSecret { fields.secret["later"] = SecretBytes(copying: [1]) } else { fields.open["later"] = [1] }
            #expect(self.code { _ = try fields.record(activationID: "a") } == .storeFromFuture)
        }
        #expect(try RecordFields(self.record).record(activationID: "a") == self.record)
    }

    @Test func resealingNeedsTheNewKey() throws {
        let other = try Sealing(key: SecretBytes(copying: Array(1..<33)))
        let resealed = try self.sealing.reseal(self.sealing.seal(self.record), with: other)
        #expect(try other.open(resealed) == self.record)
        #expect(self.code { _ = try self.sealing.open(resealed) } == .storeCorrupted)
    }

    @Test func theKeyCheckTellsKeysApart() throws {
        let other = try Sealing(key: SecretBytes(copying: Array(1..<33)))
        let check = try self.sealing.makeKeyCheck()
        #expect(self.sealing.matches(keyCheck: check))
        #expect(!other.matches(keyCheck: check))
        #expect(!self.sealing.matches(keyCheck: []))
    }

    @Test func onlyKeysOf32BytesSeal() {
        for count in [0, 16, 31, 33] {
            let key = SecretBytes(copying: [UInt8](repeating: 1, count: count))
            #expect(self.code { _ = try Sealing(key: key) } == .storeSealingKeyMissing)
        }
    }
}

extension Sealing {
    /// Returns what a change of a sealed activation writes.
    func changes<Result>(
        of sealed: SealedActivation,
        _ change: (inout ActivationRecord) throws -> Result
    ) throws -> SealedActivation.Changes {
        let opened = try self.opened(sealed)
        var record = opened.record
        _ = try change(&record)
        return try self.changes(from: opened, to: record)
    }
}
