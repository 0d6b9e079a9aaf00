import Foundation
import MobileTokenTesting
import TestSupport
import Testing

@testable import MobileTokenEmulator

/// The files under `/console/`, and the QR codes. The page's behaviour is tested in a browser.
@Suite(.timeLimit(.minutes(5))) struct ConsoleTests {
    @Test func everythingIsServedFromTheProgram() async throws {
        try await withEmulator { emulator async throws in
            for prefix in ["", "/enrollment-server"] {
                let page = try await emulator.send("GET", prefix + "/console/")
                #expect(page.status == 200)
                #expect(page.headers["content-type"] == "text/html; charset=utf-8")
                for name in ["console.css", "phone.css", "console.js", "icon.svg"] {
                    #expect(page.text.contains(#""\#(name)""#))
                }
                var names: Set = ["console.css", "phone.css", "console.js", "icon.svg"]
                var unread = names
                let gzip = ["Accept-Encoding: gzip, deflate, br"]
                var sizes = ["the page": page.body.count]
                var transferred = try await emulator.send("GET", prefix + "/console/", headers: gzip).body.count
                while let name = unread.popFirst() {
                    let file = try await emulator.send("GET", "\(prefix)/console/\(name)")
                    #expect(file.status == 200)
                    // Each is one thing, and small.
                    #expect(!file.body.isEmpty && (file.body.count < 8_000 || name.hasSuffix(".css")), "\(name)")
                    sizes[name] = file.body.count
                    transferred += try await emulator.send("GET", "\(prefix)/console/\(name)", headers: gzip).body.count
                    // Modules name the modules they need.
                    for needed in file.text.matches(of: /(?:from|import) "\.\/([\w.-]+)";/).map({ String($0.1) })
                    where names.insert(needed).inserted {
                        unread.insert(needed)
                    }
                    // The one address in it is the name of the picture format, which nobody fetches.
                    let text = file.text.replacing("http://www.w3.org/2000/svg", with: "")
                    #expect(!text.contains("http://") && !text.contains("https://"))
                }
                // A browser asks for all of them at once.
                let preloads = page.headers["link"]?.matches(of: /<([^>]+)>; rel=modulepreload/).map { String($0.1) }
                #expect(Set(preloads ?? []) == names.filter { $0.hasSuffix(".js") })
                // Without the description of the APIs, which is a page of its own.
                let size = sizes.values.reduce(0, +)
                let biggest = sizes.sorted { $0.value > $1.value }.prefix(8).map { "\($0.key) \($0.value)" }
                #expect(size <= 207_500, "\(size) bytes; the biggest: \(biggest.joined(separator: ", "))")
                #expect(transferred <= 80_000)
                #expect(!page.text.contains("http://") && !page.text.contains("https://"))
            }
        }
    }

    @Test(arguments: [
        ("gzip, deflate, br, zstd", true), ("br , GZIP;q=0.5", true), ("identity", false), ("gzip;q=0.0, br", false),
        ("xgzip", false), ("", false),
    ])
    func whoTakesItIsSentItCompressed(encodings: String, isCompressed: Bool) async throws {
        try await withEmulator { emulator async throws in
            for path in ["/console/", "/console/console.css", "/docs"] {
                let plain = try await emulator.send("GET", path)
                let file = try await emulator.send("GET", path, headers: ["Accept-Encoding: \(encodings)"])
                #expect(file.headers["content-encoding"] == (isCompressed ? "gzip" : nil))
                for response in [plain, file] { #expect(response.headers["vary"] == "Accept-Encoding") }
                guard isCompressed else {
                    #expect(file.body == plain.body)
                    continue
                }
                #expect(file.body.count < plain.body.count / 2)
                let folder = try TemporaryFolder()
                try Data(file.body).write(to: URL(filePath: folder.file("page.gz")))
                let unpacked = try await ChildProcess.run("gzip", ["-dc", folder.file("page.gz")])
                #expect(unpacked.exitCode == 0 && unpacked.outputBytes == plain.body)
            }
        }
    }

    @Test func thePolicyForbidsEverythingInline() async throws {
        try await withEmulator { emulator async throws in
            let page = try await emulator.send("GET", "/console/")
            let policy = try #require(page.headers["content-security-policy"])
            #expect(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"))
            #expect(!policy.contains("unsafe"))
            #expect(page.headers["x-content-type-options"] == "nosniff")
            #expect(page.text.firstMatch(of: /<script[^>]*>[^<]|\son\w+=|style=|javascript:/) == nil)
        }
    }

    @Test func otherNamesAndMethodsAreRefused() async throws {
        try await withEmulator { emulator async throws in
            #expect(try await emulator.send("GET", "/console/nothing").status == 404)
            #expect(try await emulator.send("GET", "/console/../console.js").status == 404)
            #expect(try await emulator.send("POST", "/console/").status == 405)
            let bare = try await emulator.send("GET", "/console")
            #expect(bare.status == 308)
            #expect(bare.headers["location"] == "console/")
            #expect(try await emulator.send("HEAD", "/console/").status == 200)
        }
    }

    // MARK: QR codes

    @Test func aQRCodeHasItsFindersAndItsQuietZone() throws {
        let code = try #require(QRCode("W65WE-3T7VI-7FBS2-A4OYA"))
        #expect((code.width - 17).isMultiple(of: 4))
        let finder = [0b1111111, 0b1000001, 0b1011101, 0b1011101, 0b1011101, 0b1000001, 0b1111111]
        for (rows, columns) in [(0, 0), (0, code.width - 7), (code.width - 7, 0)] {
            for row in 0..<7 {
                let bits = (0..<7).reduce(0) {
                    $0 << 1 | (code.modules[(rows + row) * code.width + columns + $1] ? 1 : 0)
                }
                #expect(bits == finder[row])
            }
        }
        #expect(code.svg.hasPrefix("<svg xmlns"))
        #expect(code.svg.contains(#"viewBox="0 0 \#(code.width + 8) \#(code.width + 8)""#))
        #expect(code.svg.contains("M4 4h7v1h-7z"))
    }

    @Test func whatFitsNoQRCodeIsRefused() async throws {
        #expect(QRCode("") == nil)
        #expect(QRCode(String(repeating: "x", count: 3000)) == nil)
        #expect(QRCode(String(repeating: "ř", count: 1000)) != nil)
        try await withEmulator { emulator async throws in
            #expect(try await emulator.send("GET", "/_emulator/qr").status == 400)
            let picture = try await emulator.send("GET", "/_emulator/qr?text=a%2Bb")
            #expect(picture.headers["content-type"] == "image/svg+xml")
            #expect(picture.text == QRCode("a+b")?.svg)
        }
    }
}
