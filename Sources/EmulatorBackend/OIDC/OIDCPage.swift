import EmulatorMessages
import PowerAuthCrypto

/// The page on which a user signs in at a provider. It needs nothing from elsewhere, and runs no program.
enum OIDCPage {
    static let type = "text/html; charset=utf-8"

    static func asking(_ request: OIDCAuthorizationRequest, _ provider: EmulatorOIDCProvider) -> ServerResponse {
        Self.page(
            provider,
            """
            <p><b>\(Self.escaped(provider.clientID))</b> asks who you are (<code>\(Self.escaped(request.scopes))</code>).</p>
            <form method="post">
            <label>User <input name="user" required maxlength="255" autocomplete="username" autofocus></label>
            <p class="hint">This is a development server: there are no passwords.</p>
            <div><button class="primary" name="decision" value="allow">Sign in</button>
            <button name="decision" value="deny" formnovalidate>Cancel</button></div>
            </form>
            """
        )
    }

    /// - Parameter error: The code of RFC 6749.
    static func refusing(_ error: String, _ provider: EmulatorOIDCProvider) -> ServerResponse {
        Self.page(
            provider,
            """
            <p>The request of <b>\(Self.escaped(provider.clientID))</b> is not right: <code>\(Self.escaped(error))</code>.</p>
            <form method="post"><div><button name="decision" value="deny">Back</button></div></form>
            """
        )
    }

    private static func page(_ provider: EmulatorOIDCProvider, _ content: String) -> ServerResponse {
        let page = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Sign in · Mobile Token Emulator</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <main>
            <h1>Sign in at \(Self.escaped(provider.id))</h1>
            \(content)
            </main>
            </body>
            </html>

            """
        return ServerResponse(
            status: 200,
            headers: [
                ("Content-Type", Self.type),
                // A browser asks about where a form leads in the end, too.
                (
                    "Content-Security-Policy",
                    """
                    default-src 'none'; style-src 'sha256-\(Self.styleHash)'; form-action 'self' \
                    \(provider.redirectScheme):; base-uri 'none'; frame-ancestors 'none'
                    """
                ),
                ("X-Content-Type-Options", "nosniff"),
                ("Referrer-Policy", "no-referrer"),
                ("Cache-Control", "no-store"),
            ],
            body: .bytes(Array(page.utf8))
        )
    }

    private static func escaped(_ string: String) -> String {
        var escaped = ""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static let styleHash = Base64.encode(SHA256.hash(Array(Self.style.utf8)))

    /// The colors and the controls of the console.
    private static let style = """
        :root { color-scheme: light dark; --page: #f4f6f8; --surface: #fff; --line: #dce1e6; --edge: #838f9b; --text: #17212b; \
        --muted: #56626f; --accent: #0b7a75; --on-accent: #fff; font: 15px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
        @media (prefers-color-scheme: dark) { :root { --page: #10151a; --surface: #181f26; --line: #2e3944; --edge: #73818f; \
        --text: #e4eaf0; --muted: #9dabb8; --accent: #4cc2bb; --on-accent: #06201f; } }
        * { box-sizing: border-box; }
        body { margin: 0; padding: 2rem 1rem; background: var(--page); color: var(--text); }
        main { max-width: 26rem; margin: 0 auto; padding: 1.5rem; background: var(--surface); border: 1px solid var(--line); \
        border-radius: .6rem; }
        h1 { margin: 0 0 1rem; font-size: 1.1rem; font-weight: 650; overflow-wrap: anywhere; }
        p { margin: 0 0 1rem; overflow-wrap: anywhere; }
        .hint, label { color: var(--muted); font-size: .85rem; }
        label { display: grid; gap: .25rem; margin-bottom: 1rem; }
        input, button { font: inherit; min-height: 2.3rem; padding: .3rem .75rem; border: 1px solid var(--edge); \
        border-radius: .45rem; background: var(--surface); color: var(--text); }
        input { font-size: .95rem; width: 100%; }
        div { display: flex; gap: .5rem; }
        button { border-color: var(--line); cursor: pointer; font-weight: 500; }
        button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
        """
}
