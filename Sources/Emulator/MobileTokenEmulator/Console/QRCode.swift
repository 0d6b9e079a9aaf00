import CQREncode
import EmulatorBackend
import APIDescriptions
import EmulatorMessages
import Foundation

/// A QR code, level M.
struct QRCode {
    /// The number of modules per side, without the quiet zone.
    let width: Int
    /// The modules row by row; `true` is dark.
    let modules: [Bool]

    /// - Returns: `nil` if the content is empty or too long for a QR code.
    init?(_ content: String) {
        let bytes = Array(content.utf8)
        guard !bytes.isEmpty, let code = QRcode_encodeData(Int32(clamping: bytes.count), bytes, 0, QR_ECLEVEL_M) else {
            return nil
        }
        defer { QRcode_free(code) }
        self.width = Int(code.pointee.width)
        // The lowest bit is the color; the others are the module's purpose.
        self.modules = UnsafeBufferPointer(start: code.pointee.data, count: self.width * self.width).map { $0 & 1 == 1 }
    }

    /// Dark on white, with the quiet zone that scanners need, independent of the page's colors.
    var svg: String {
        let side = self.width + 8
        var path = ""
        for row in 0..<self.width {
            var column = 0
            while column < self.width {
                let run = self.modules[(row * self.width + column)..<((row + 1) * self.width)].prefix { $0 }.count
                if run > 0 { path += "M\(column + 4) \(row + 4)h\(run)v1h-\(run)z" }
                column += max(run, 1)
            }
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(side) \(side)" shape-rendering="crispEdges">\
            <path fill="#fff" d="M0 0h\(side)v\(side)h-\(side)z"/><path d="\(path)"/></svg>
            """
    }

    /// Responds with an image of the query's `text`.
    static func response(to request: ReceivedRequest) throws(Refusal) -> ServerResponse {
        guard let text = request.queryValue("text"), let code = QRCode(text) else {
            throw Refusal(400, "INVALID_REQUEST", "text must be there and fit a QR code")
        }
        let headers = [(name: "Content-Type", value: "image/svg+xml"), (name: "Cache-Control", value: "no-store")]
        return ServerResponse(status: 200, headers: headers, body: .bytes(Array(code.svg.utf8)))
    }

    /// Half blocks with two rows per line, dark on light in any terminal.
    var terminalText: String {
        func isDark(_ row: Int, _ column: Int) -> Bool {
            let range = 0..<self.width
            return range.contains(row) && range.contains(column) && self.modules[row * self.width + column]
        }
        // Scanners need four light modules on every side.
        return stride(from: -4, to: self.width + 4, by: 2).map { row in
            let line = (-4..<self.width + 4).map { column in
                switch (isDark(row, column), isDark(row + 1, column)) {
                case (true, true): "█"
                case (true, false): "▀"
                case (false, true): "▄"
                case (false, false): " "
                }
            }
            return "\u{1B}[30;107m" + line.joined() + "\u{1B}[0m"
        }.joined(separator: "\n")
    }
}

extension RouteDescription.Parameter {
    static let text = Self("text", .word, isRequired: true, "The content of the code.")
}
