import MobileToken

/// Operations as a server sends them.
enum OperationFixture {
    static func answer(count: Int, second: Int = 0) -> [UInt8] {
        self.answer(0..<count, second: second)
    }

    static func answer(_ numbers: Range<Int>, second: Int = 0) -> [UInt8] {
        let operations = numbers.map(self.json(number:)).joined(separator: ",")
        let time = "2026-01-01T00:00:0\(second).000+0000"
        return Array(#"{"status":"OK","responseObject":[\#(operations)],"currentTimestamp":"\#(time)"}"#.utf8)
    }

    static func operations(count: Int) throws -> [UserOperation] {
        try (0..<count).map { try UserOperation(parsing: Array(self.json(number: $0).utf8)) }
    }

    private static func json(number: Int) -> String {
        let id = "8eebd926-40d4-4214-8208-\(100_000_000_000 + number)"
        let (minute, second) = (10 + number / 60 % 50, 10 + number % 50)
        return """
            {"id":"\(id)","name":"authorize_payment","data":"A1*A\(number)CZK*Q238400856/0300**D20260629*NUtility Bill",\
            "status":"PENDING","operationCreated":"2026-01-01T10:\(minute):\(second).000+0000",\
            "operationExpires":"2026-01-01T11:\(minute):\(second).123+0000",\
            "allowedSignatureType":{"type":"2FA","variants":["possession_knowledge","possession_biometry"]},\
            "formData":{"title":"Confirm Payment","message":"Hello, please confirm payment no. \(number)","attributes":[\
            {"type":"AMOUNT","id":"operation.amount","label":"Amount","amount":\(number).5,"currency":"CZK",\
            "amountFormatted":"\(number),50","currencyFormatted":"Kč"},\
            {"type":"KEY_VALUE","id":"operation.account","label":"To Account","value":"238400856/0300"},\
            {"type":"NOTE","id":"operation.note","label":"Note","note":"Utility Bill Payment, invoice \(number)"}]}}
            """
    }
}
