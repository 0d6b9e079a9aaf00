import ExactJSON
import Foundation
import TestSupport
import Testing

/// A sealing key that only a PKCS#11 token can open.
@Suite(.timeLimit(.minutes(5)), .enabled(if: SoftwareToken.isInstalled, "softhsm2 and opensc are not installed"))
struct TokenKeyTests {
    @Test func theStoreOpensWithTheTokenAndItsPINAlone() async throws {
        try await withProgramAndServer { emulator, home in
            let token = try await SoftwareToken(in: home)
            try await token.makeWrappedKey(home.file("wrapped"))
            let place = "command:" + token.unwrapping(home.file("wrapped")).joined(separator: " ")
            let id = try await Program.activate(
                at: emulator,
                home: home.url,
                environment: token.environment.merging(["MOBILE_TOKEN_SEALING_KEY_SOURCE": place]) { $1 }
            )
            func status(_ environment: [String: String]) async throws -> ChildProcess.Outcome {
                try await Program.run("status", "--json", home: home.url, environment: environment)
            }
            let opened = try await status(token.environment)
            #expect(try JSONValue(parsing: opened.output)["activationId"]?.string == id, "\(opened.errors)")

            var wrongPIN = token.environment
            wrongPIN["PIN"] = "4321"
            var noToken = token.environment
            noToken["SOFTHSM2_CONF"] = "/nowhere"
            for environment in [wrongPIN, noToken] {
                let refused = try await status(environment)
                #expect(refused.exitCode == 78)
                #expect(refused.errors.contains("storeSealingKeyMissing"))
                #expect(!refused.errors.contains("4321"))
            }
            try await token.makeWrappedKey(home.file("wrapped"))
            let otherKey = try await status(token.environment)
            #expect(otherKey.errors.contains("storeWrongSealingKey"))
        }
    }
}

/// A token of SoftHSM with an RSA key that does not leave it.
private struct SoftwareToken {
    private static let module = "/usr/lib/softhsm/libsofthsm2.so"
    /// The environment that a program needs to reach the token.
    let environment: [String: String]
    private let publicKey: String

    static var isInstalled: Bool {
        [self.module, "/usr/bin/softhsm2-util", "/usr/bin/pkcs11-tool"].allSatisfy {
            FileManager.default.fileExists(atPath: $0)
        }
    }

    init(in folder: TemporaryFolder) async throws {
        let tokens = folder.file("tokens")
        try FileManager.default.createDirectory(atPath: tokens, withIntermediateDirectories: true)
        let configuration = folder.file("softhsm2.conf")
        try "directories.tokendir = \(tokens)\nobjectstore.backend = file\n"
            .write(toFile: configuration, atomically: true, encoding: .utf8)
        self.environment = ["SOFTHSM2_CONF": configuration, "PIN": "1234", "PATH": "/usr/bin:/bin"]
        self.publicKey = folder.file("token.der")
        try await self.run(
            ["softhsm2-util", "--init-token", "--free", "--label", "sealing", "--pin", "1234", "--so-pin", "5678"]
        )
        try await self.run(
            self.tool(["--pin", "env:PIN", "--keypairgen", "--key-type", "rsa:2048", "--id", "01", "--usage-decrypt"])
        )
        try await self.run(
            self.tool(["--read-object", "--type", "pubkey", "--id", "01", "--output-file", self.publicKey])
        )
    }

    /// Writes a random key that the token can unwrap, as an administrator would.
    func makeWrappedKey(_ file: String) async throws {
        try await self.run([
            "sh", "-c",
            """
            openssl rand -base64 32 | openssl pkeyutl -encrypt -pubin -keyform DER -inkey "$1" \
                -pkeyopt rsa_padding_mode:oaep -out "$2"
            """,
            "sh", self.publicKey, file,
        ])
    }

    /// Returns the command that unwraps it.
    func unwrapping(_ file: String) -> [String] {
        self.tool([
            "--pin", "env:PIN", "--decrypt", "--id", "01", "--mechanism", "RSA-PKCS-OAEP", "--hash-algorithm", "SHA-1",
            "--input-file", file,
        ])
    }

    private func tool(_ words: [String]) -> [String] {
        ["pkcs11-tool", "--module", Self.module, "--token-label", "sealing"] + words
    }

    private func run(_ words: [String]) async throws {
        let outcome = try await ChildProcess.run("/usr/bin/env", words, environment: self.environment)
        try #require(outcome.exitCode == 0, "\(words): \(outcome.errors)")
    }
}
