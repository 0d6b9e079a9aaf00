import EmulatorBackend
import EmulatorMessages
import ExactJSON
public import Foundation

extension Emulator {
    /// Adds an operation template, or replaces the one of its name, until a reset or an import.
    ///
    /// ```swift
    /// try await emulator.addTemplate(String(contentsOfFile: "templates/standing_order.json", encoding: .utf8))
    /// try await emulator.cloud.createOperation("standing_order", userID: "alice")
    /// ```
    ///
    /// - Parameter document: The template as JSON. It is filled once in every language as a check.
    /// - Throws:
    ///   ``EmulatorError`` of code `invalidDocument`, which names the line, `conflict` if a waiting operation could not be shown with it, or `capacityExceeded`.
    public func addTemplate(_ document: String) async throws(EmulatorError) {
        do { _ = try await self.core.addTemplate(Array(document.utf8)) } catch { throw EmulatorError(any: error) }
    }

    /// Removes an operation template until a reset or an import.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound`, or `conflict` if a waiting operation uses it.
    public func removeTemplate(_ name: String) async throws(EmulatorError) {
        do { try await self.core.removeTemplate(name) } catch { throw EmulatorError(any: error) }
    }

    /// Creates everything in a scenario, or nothing: a JSON document of time, templates, callbacks, registrations, virtual
    /// devices, operations, messages and faults, each in the form of its request.
    ///
    /// ```json
    /// {"clock": {"mode": "manual", "now": "2026-03-01T08:00:00Z"},
    ///  "registrations": [{"userId": "alice"}],
    ///  "devices": [{"userId": "bob", "rule": {"decision": "approve", "after": 3}}],
    ///  "operations": [{"userId": "alice", "template": "payment", "parameters": {"amount": "12.50"}}]}
    /// ```
    ///
    /// - Returns: The created objects in JSON, as in the cloud API, such as the activation codes.
    /// - Throws:
    ///   ``EmulatorError`` of code `invalidDocument`, which names the line and the member, `notFound`, `conflict` or `capacityExceeded`.
    ///   Nothing has changed then.
    @discardableResult
    public func play(scenario: Data) async throws(EmulatorError) -> Data {
        do {
            return Data(try await self.core.play(Scenario(parsing: Array(scenario))).serialized())
        } catch {
            throw EmulatorError(any: error)
        }
    }
}

extension Emulator {
    /// Writes a file that only its owner can read, replacing an existing one.
    package static func writePrivately(_ bytes: [UInt8], to path: String) throws(EmulatorError) {
        try ServerFile.write(bytes, to: path)
    }
}

extension Emulator.Configuration {
    /// Adds operation templates from a file, or from the `.json` files in a folder, in the order of their names.
    ///
    /// - Throws: ``EmulatorError`` of code `invalidConfiguration`, which names the file and the line. Nothing has been added
    ///   then.
    public mutating func addTemplates(from path: String) throws(EmulatorError) {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw EmulatorError(.invalidConfiguration, "There is no '\(path)'")
        }
        var files = [path]
        if isFolder.boolValue {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
            files = names.filter { $0.utf8.suffix(5).elementsEqual(".json".utf8) }.sorted()
                .map { URL(filePath: path).appending(path: $0).path }
            guard !files.isEmpty else {
                throw EmulatorError(.invalidConfiguration, "There is no template in '\(path)': the names end in .json")
            }
        }
        var documents: [String] = []
        for file in files {
            guard let document = FileManager.default.contents(atPath: file) else {
                throw EmulatorError(.invalidConfiguration, "'\(file)' cannot be read")
            }
            do { _ = try OperationTemplate(parsing: document) } catch {
                throw EmulatorError(.invalidConfiguration, "\(file): \(error.message)")
            }
            documents.append(String(decoding: document, as: UTF8.self))
        }
        self.templates += documents
    }
}

extension EmulatorError {
    /// The error for a refusal of the core or the backend.
    init(any error: any Error) {
        switch error {
        case let error as EmulatorError: self = error
        case let refusal as Refusal where refusal.status == 507: self.init(.capacityExceeded, refusal.message)
        case let refusal as Refusal: self.init(refusal)
        default: self = .notWritten
        }
    }
}
