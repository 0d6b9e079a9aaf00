import AskCommands
import CommandLineSupport
import ExactJSON
import Foundation
import MobileToken

enum ProfileCommands {
    static let all = [list, use, reseal, remove]

    private static let name = Command.Operand("NAME", "the profile")

    static let list = Command(
        "profile",
        "list",
        summary: "Show the profiles, with their servers and activations."
    ) { invocation in
        let home = ProfileHome(invocation)
        var table = TextTable(header: "", "NAME", "SERVER", "ACTIVATION", "ASKS FOR")
        var documents: [JSONValue] = []
        for folder in try home.profiles {
            let profile = try folder.load()
            let asking = try AskSettings.load(folder)
            let isDefault = folder.name == home.defaultName
            table.add(
                isDefault ? "*" : "",
                folder.name,
                profile?.url ?? "",
                profile?.activationID ?? "none",
                asking?.audience ?? ""
            )
            documents.append([
                "name": .string(folder.name),
                "isDefault": .bool(isDefault),
                "url": .optional(profile?.url),
                "powerAuthUrl": .optional(profile?.powerAuthURL),
                "proxy": .optional(profile?.proxy?.description),
                "activationId": .optional(profile?.activationID),
                "sealingKey": .optional(profile?.sealingKey),
                "audience": .optional(asking?.audience),
            ])
        }
        Output(isJSON: invocation.has("json")).result(
            .array(documents),
            text: documents.isEmpty ? "No profiles." : table.text
        )
        return .done
    }

    static let use = Command(
        "profile",
        "use",
        summary: "Make a profile the default.",
        operands: [name]
    ) { invocation in
        let home = ProfileHome(invocation)
        let profile = try home.profile(try invocation.required(0))
        try profile.requireExistence()
        try home.makeDefault(profile)
        Output(isJSON: invocation.has("json")).outcome(
            ["default": .string(profile.name)],
            text: "\(profile.name) is the default profile."
        )
        return .done
    }

    static let reseal = Command(
        "profile",
        "reseal",
        summary: "Seal the profile's store with a key from another place, and keep the place.",
        discussion: """
            A missing file is made; any other place must have a key. First end every process that has the store open, for it would
            get storeWrongSealingKey. If the command is interrupted, repeat it. Delete the old key at the end. Entries of the receipts
            whose bytes were changed cannot be opened: they are named, and stay as they are.
            """,
        operands: [.init("PLACE", "file:PATH, env:NAME or command:PROGRAM ARGS, which is one word for the shell")]
    ) { invocation in
        let folder = try ProfileHome(invocation).profile(invocation)
        var profile = try folder.existing()
        let place = try SealingKeySource(try invocation.required(0))
        let current = try invocation.sealingKey("sealing-key") ?? profile.sealingKey.map { try SealingKeySource($0) }
        let unreadable = try await Self.reseal(folder, from: current, to: place)
        profile.sealingKey = place.description
        try folder.save(profile)
        Output(isJSON: invocation.has("json")).outcome(
            [
                "sealingKey": .string(place.description),
                "unreadable": .array(unreadable.map { .number(JSONNumber($0)) }),
            ],
            text: "The store is sealed with the key from \(TextTable.printable(place.description))."
                + (unreadable.isEmpty
                    ? "" : " Receipt entries that do not open: \(unreadable.map { "\($0)" }.joined(separator: ", ")).")
        )
        return .done
    }

    /// Returns the numbers of the entries that could not be opened.
    private static func reseal(
        _ folder: ProfileFolder,
        from current: SealingKeySource?,
        to place: SealingKeySource
    ) async throws -> [UInt64] {
        let store = ActivationStore.sqlite(path: folder.database, sealingKey: current)
        do {
            let unreadable = try await store.rotateSealingKey(to: place)
            await store.close()
            return unreadable
        } catch let error as MobileTokenError
            where [.storeWrongSealingKey, .storeSealingKeyMissing].contains(error.code)
        {
            // An interruption may have come after resealing and before the profile was saved.
            let resealed = ActivationStore.sqlite(path: folder.database, sealingKey: place)
            guard (try? await resealed.open()) != nil else { throw error }
            await resealed.close()
            return []
        }
    }

    static let remove = Command(
        "profile",
        "remove",
        summary: "Delete a profile from this machine.",
        discussion: """
            An activation in it cannot be used any more, but stays on the server: use 'remove' first. Its receipts are
            deleted too. A ledger in it knows which approvals were used: without it, everything can be asked and done again.
            """,
        operands: [name],
        options: [
            .init("discard-activation", nil, "delete it though it has an activation"),
            .init("discard-ledger", nil, "delete it though it has a ledger of what was asked"),
        ]
    ) { invocation in
        let home = ProfileHome(invocation)
        let profile = try home.profile(try invocation.required(0))
        try profile.requireExistence()
        guard try profile.load()?.activationID == nil || invocation.has("discard-activation") else {
            throw invocation.misuse("the profile has an activation; 'remove' it, or use --discard-activation")
        }
        guard !FileManager.default.fileExists(atPath: profile.ledger) || invocation.has("discard-ledger") else {
            throw invocation.misuse("the profile has a ledger of what was asked; keep it, or use --discard-ledger")
        }
        try home.remove(profile)
        Output(isJSON: invocation.has("json")).outcome(
            ["removed": .string(profile.name)],
            text: "Deleted the profile \(profile.name)."
        )
        return .done
    }
}
