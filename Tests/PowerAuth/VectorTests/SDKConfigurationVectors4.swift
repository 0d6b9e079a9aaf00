import PowerAuthProtocol
import Testing

@Suite(.vectors4("sdk-config"))
struct SDKConfigurationVectors4 {
    struct Input: Decodable { let configuration: String }

    struct Key: Decodable {
        let kind: UInt8
        let bytes: [UInt8]

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            self.kind = try container.decode(UInt8.self)
            self.bytes = try container.decode(Bytes.self).bytes
        }
    }

    struct Output: Decodable {
        let applicationKey: String?
        let applicationSecret: String?
        let keys: [Key]?
        let usable: [String: Bool]?
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "sdk-config", of: .version4))
    func keysAndSuites(_ vector: Vector<Input, Output>) throws {
        let (text, output) = (vector.input.configuration, vector.output)
        guard let applicationKey = output.applicationKey else {
            #expect(throws: SDKConfigurationError.self) { try SDKConfiguration(parsing: text) }
            return
        }
        let contents = try SDKConfigurationContents(parsing: text)
        #expect(contents.applicationKey == applicationKey)
        #expect(contents.applicationSecret.base64 == output.applicationSecret)
        #expect(contents.keys.map(\.kind) == output.keys?.map(\.kind))
        #expect(contents.keys.map(\.bytes) == output.keys?.map(\.bytes))

        // A configuration with a key that is none of its kind, or without P-256, is refused as a whole.
        let configuration = try? SDKConfiguration(parsing: text)
        for suite in AlgorithmSuite.allCases {
            let isUsable = configuration?.suites.contains(suite) ?? false
            #expect(isUsable == output.usable?[suite.rawValue])
            guard isUsable, suite.isAvailable else { continue }
            #expect(throws: Never.self) { try configuration?.version4MasterPublicKeys?.keys(of: suite) }
        }
        guard let configuration else { return }
        #expect(configuration.applicationKey == applicationKey)
        #expect(try SDKConfiguration(parsing: configuration.string) == configuration)
        if output.keys?.map(\.kind) == [1, 2, 3, 4] { #expect(configuration.string == text) }
    }
}
