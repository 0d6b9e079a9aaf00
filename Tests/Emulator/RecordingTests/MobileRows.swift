import ExactJSON

// Cases about one row of the official servers' table of texts, or about a flag of their templates.

extension MobileCase {
    enum Row {
        case text, riskFlags, configuration, notANumber

        init?(ofCase name: String) {
            switch name.split(separator: " ").first {
            case "text": self = .text
            case "risk": self = .riskFlags
            case "config": self = .configuration
            default: return nil
            }
        }
    }

    func performRow(_ row: Row) throws {
        let official = self.record["real"]?["answer"]?["responseObject"]
        let name = official?["name"]?.string ?? "mf_row"
        let (template, parameters): (JSONValue, JSONObject) =
            switch row {
            case .text: try self.textRow(name)
            case .riskFlags: try self.riskRow(name)
            case .configuration: (try self.brokenRow(name), ["v": "x"])
            case .notANumber:
                (
                    MobileTemplate.template(
                        name,
                        data: "A1*A${a}${c}",
                        parameters: ["a": "1", "c": "CZK"],
                        texts: [("en", "T", "M")],
                        attributes: [MobileTemplate.amount("x", "A", "a", "c")]
                    ), ["a": .string(try self.quoted(in: self.setup)), "c": "CZK"]
                )
            }
        do { try self.server.add(template) } catch { throw NotPerformed(reason: "a template that is not taken") }
        let device = try self.phone()
        let operation = try self.operation(of: device, name, parameters: parameters)
        let request = self.record["request"] ?? .null
        let call = request["path"]?.string?.split(separator: "/").last ?? "detail"
        self.keep(try self.byToken(device, String(call), operation, self.recordedCall(request)))
    }

    private func textRow(_ name: String) throws -> (JSONValue, JSONObject) {
        let form =
            #/.*, parameters (\{.*?\}), title ('.*'), message ('.*'), result_texts (None|\{.*\}), data A1\*N\$\{v\}/#
        guard let parts = self.setup.wholeMatch(of: form), let given = try JSONValue(parsing: String(parts.1)).object
        else { throw NotPerformed(reason: "the row \(self.setup)") }
        var more: JSONObject = [
            "title": "@{title}", "message": "@{message}",
            "attributes": [["type": "KEY_VALUE", "id": "k", "label": "K", "value": "${v}"]],
        ]
        if parts.4 != "None" { more["resultTexts"] = try Self.python(parts.4) }
        let template = MobileTemplate.template(
            name,
            data: "A1*N${v}",
            parameters: ["v": "1", "w": "1"],
            texts: [("en", try self.quoted(in: parts.2), try self.quoted(in: parts.3))],
            more: ["formData": .object(more)]
        )
        return (template, given)
    }

    private func riskRow(_ name: String) throws -> (JSONValue, JSONObject) {
        let flags = self.name.firstMatch(of: #/risk flags '?([A-Z]*)'? with/#)?.1 ?? ""
        var more: JSONObject = ["riskFlags": .string(String(flags))]
        if let ui = self.setup.firstMatch(of: #/ui (\{.*\})/#)?.1 { more["ui"] = try Self.python(ui) }
        return (MobileTemplate.template(name, texts: [("en", "T", "M")], more: more), [:])
    }

    private func brokenRow(_ name: String) throws -> JSONValue {
        guard let ui = self.setup.wholeMatch(of: #/es_operation_template row \('T', 'M', \[\], (\{'.*\}), None\)/#)?.1
        else { throw NotPerformed(reason: "a column that holds no JSON, or none of its form") }
        let parameters: JSONObject = ["v": "1"]
        return MobileTemplate.template(name, parameters: parameters, more: ["ui": try Self.python(ui)])
    }

    /// Reads the first string of Python in a text.
    private func quoted(in text: some StringProtocol) throws -> String {
        guard let string = String(text).firstMatch(of: #/'(.*)'/#)?.1 else {
            throw NotPerformed(reason: "the string \(text)")
        }
        return String(string)
    }

    /// Reads an object of Python whose strings hold no quotes.
    private static func python(_ text: some StringProtocol) throws -> JSONValue {
        try JSONValue(
            parsing: String(text).replacing("'", with: "\"").replacing("True", with: "true").replacing(
                "None",
                with: "null"
            )
        )
    }
}
