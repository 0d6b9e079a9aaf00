import DeploymentGate
import ExactJSON
import MobileTokenApprovals
import MobileTokenTesting
import Testing

/// The gate in front of an agent's tools.
@Suite(.timeLimit(.minutes(2))) struct ToolServerTests {
    /// An agent. It can send lines and read answers, and holds nothing to act with.
    private struct Agent {
        let send: (String) async -> String

        func call(_ id: String, _ tool: String, _ arguments: JSONValue) async throws -> JSONValue {
            let call: JSONValue = ["id": .string(id), "tool": .string(tool), "arguments": arguments]
            return try JSONValue(parsing: await self.send(String(decoding: call.serialized(), as: UTF8.self)))
        }
    }

    private func with(
        _ people: [String: ScriptedApprover],
        _ body: (Agent, Stage) async throws -> Void
    ) async throws {
        let stage = try await Stage(people)
        let server = ToolServer(
            desk: stage.desk,
            approver: "alice",
            session: "s1",
            tools: [.deploy(to: stage.target), .free("status") { _ in "all is well" }]
        )
        try await body(Agent { line in await stage.passing { await server.answer(line) } }, stage)
    }

    @Test func whatAPersonApprovesIsDone() async throws {
        try await self.with(["alice": .approves(after: .seconds(3))]) { agent, stage in
            let answer = try await agent.call("1", "deploy", Stage.deployment.json)
            #expect(answer["result"]?.string == "deployed; approved by alice")
            #expect(stage.deployed == "replicas: 2\n")
            // The same call again is not done again.
            let again = try await agent.call("1", "deploy", Stage.deployment.json)
            #expect(again["refused"]?.string == "It was done before. Do not repeat it.")
        }
    }

    @Test func whatAPersonRejectsIsNot() async throws {
        try await self.with(["alice": .rejects("no")]) { agent, stage in
            let answer = try await agent.call("1", "deploy", Stage.deployment.json)
            #expect(answer["refused"]?.string == "A person said no. Do not ask again.")
            let again = try await agent.call("1", "deploy", Stage.deployment.json)
            #expect(again["refused"]?.string == "A person said no. Do not ask again.")
            #expect(stage.deployed == nil)
        }
    }

    @Test func silenceIsNoApproval() async throws {
        try await self.with(["alice": .silent]) { agent, stage in
            let answer = try await agent.call("1", "deploy", Stage.deployment.json)
            #expect(answer["refused"]?.string?.hasPrefix("It was not done") == true)
            #expect(stage.deployed == nil)
        }
    }

    /// The agent asks for one thing, and for another under the same name.
    @Test func anApprovalIsForOneCall() async throws {
        try await self.with(["alice": .approves()]) { agent, stage in
            _ = try await agent.call("1", "deploy", Stage.deployment.json)
            let other = try Deployment(service: "billing", version: "4.2.1", manifest: "replicas: 200\n")
            let answer = try await agent.call("1", "deploy", other.json)
            #expect(answer["refused"]?.string?.contains("asked with other content") == true)
            #expect(stage.deployed == "replicas: 2\n")
        }
    }

    /// A person sees no difference between two tools of one template: what was approved for one is nothing for the other.
    @Test func anApprovalIsForOneTool() async throws {
        let stage = try await Stage(["alice": .approves()])
        let promote = Tool.gated(
            "promote",
            template: DeploymentGate.template,
            shows: { arguments in
                let deployment = try Deployment(arguments)
                return ["service": .ascii(deployment.service), "version": .ascii(deployment.version)]
            },
            acts: { _ in "promoted" }
        )
        let server = ToolServer(
            desk: stage.desk,
            approver: "alice",
            session: "s1",
            tools: [.deploy(to: stage.target), promote]
        )
        let agent = Agent { line in await stage.passing { await server.answer(line) } }
        _ = try await agent.call("1", "deploy", Stage.deployment.json)
        // It is another question, for which it is too early.
        let answer = try await agent.call("1", "promote", Stage.deployment.json)
        #expect(answer["refused"]?.string?.hasPrefix("The person has been asked often enough") == true)
    }

    @Test func aLoopOfQuestionsIsStopped() async throws {
        try await self.with(["alice": .approves()]) { agent, stage in
            _ = try await agent.call("1", "deploy", Stage.deployment.json)
            let answer = try await agent.call("2", "deploy", Stage.deployment.json)
            #expect(answer["refused"]?.string?.hasPrefix("The person has been asked often enough") == true)
        }
    }

    @Test func whatIsNotUnderstoodIsRefused() async throws {
        try await self.with(["alice": .approves()]) { agent, stage in
            for line in ["", "[]", "{}", #"{"id":"1","tool":"deploy"}"#, #"{"id":1,"tool":"deploy","arguments":{}}"#] {
                #expect(try JSONValue(parsing: await agent.send(line))["refused"] != nil, "\(line)")
            }
            let calls: [(String, JSONValue)] = [
                ("rm", [:]), ("deploy", [:]),
                ("deploy", ["service": "../x", "version": "1", "manifest": ""]),
                ("deploy", ["service": "billing", "version": "1", "manifest": "", "force": true]),
            ]
            for (number, call) in calls.enumerated() {
                let answer = try await agent.call("\(number)", call.0, call.1)
                #expect(answer["refused"] != nil && answer["result"] == nil, "\(call)")
            }
            #expect(stage.deployed == nil)
            #expect(try await stage.desk.tickets().isEmpty)
            #expect(try await agent.call("9", "status", [:])["result"]?.string == "all is well")
        }
    }
}
