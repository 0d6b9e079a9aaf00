// Names where a store is and where its key comes from, and gives it another key.
import MobileToken

let store = ActivationStore.sqlite(
    path: "/var/lib/bot/bank/activations.sqlite",
    sealingKey: .environment("SEALING_KEY")
)
try await store.open()  // so that a service notices at its start what is wrong
// snippet.hide
await store.close()
// snippet.show

// snippet.hide
let oldStore = ActivationStore.sqlite(path: CommandLine.arguments[1])
// snippet.show
try await oldStore.rotateSealingKey(to: .file("/run/credentials/bot.service/sealing-key"))
