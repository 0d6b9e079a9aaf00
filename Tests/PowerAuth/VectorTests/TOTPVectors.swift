import EmulatorBackend
import Testing

@Suite(.enabled(if: VectorFile.exists("totp")))
struct TOTPVectors {
    struct Input: Decodable {
        let seed: Bytes
        let epochSeconds: Int64
        let stepSeconds: Int64
        let digits: Int
    }

    struct Output: Decodable {
        let totp: String
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "totp"))
    func codeAndItsLifetime(_ vector: Vector<Input, Output>) {
        let input = vector.input
        let totp = TOTP(secret: input.seed.secret, digits: input.digits, step: input.stepSeconds)
        let code = totp.code(at: input.epochSeconds)
        #expect(code == vector.output.totp)
        #expect(totp.isValid(code, at: input.epochSeconds))
        #expect(totp.isValid(code, at: input.epochSeconds + input.stepSeconds))
        #expect(!totp.isValid(code, at: input.epochSeconds + 2 * input.stepSeconds))
        #expect(!totp.isValid(code, at: input.epochSeconds - input.stepSeconds))
    }
}
