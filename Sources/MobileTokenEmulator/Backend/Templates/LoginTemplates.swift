extension OperationTemplate {
    static let loginTemplates = [login, loginOneFactor, loginPreApproval, loginLegacyPreApproval, loginProximity]

    private static let login = #"""
        {
          "name": "login",
          "data": "A2",
          "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge", "possession_biometry"]},
          "expiresIn": 300,
          "maxFailureCount": 5,
          "parameters": {
            "party.id": "1",
            "party.name": "Example",
            "session.id": "1",
            "session.ip-address": "192.0.2.1"
          },
          "texts": {
            "en": {
              "title": "Login Approval",
              "message": "Are you logging in to ${party.name}?",
              "party": "Application",
              "ip": "IP Address",
              "session": "Session",
              "success": "You are logged in",
              "failure": "The login failed",
              "reject": "The login was rejected"
            },
            "cs": {
              "title": "Potvrzení přihlášení",
              "message": "Přihlašujete se do ${party.name}?",
              "party": "Aplikace",
              "ip": "IP adresa",
              "session": "Relace",
              "success": "Přihlášení proběhlo úspěšně",
              "failure": "Přihlášení se nezdařilo",
              "reject": "Přihlášení bylo zamítnuto"
            },
            "de": {
              "title": "Anmeldung bestätigen",
              "message": "Melden Sie sich bei ${party.name} an?",
              "party": "Anwendung",
              "ip": "IP-Adresse",
              "session": "Sitzung",
              "success": "Sie sind angemeldet",
              "failure": "Die Anmeldung ist fehlgeschlagen",
              "reject": "Die Anmeldung wurde abgelehnt"
            }
          },
          "formData": {
            "title": "@{title}",
            "message": "@{message}",
            "resultTexts": {"success": "@{success}", "failure": "@{failure}", "reject": "@{reject}"},
            "attributes": [
              {"type": "KEY_VALUE", "id": "login.party", "label": "@{party}", "value": "${party.name}"},
              {"type": "KEY_VALUE", "id": "login.ip", "label": "@{ip}", "value": "${session.ip-address}"},
              {"type": "KEY_VALUE", "id": "login.session", "label": "@{session}", "value": "${session.id}"}
            ]
          }
        }
        """#

    private static let loginOneFactor = #"""
        {
          "name": "login_1FA",
          "data": "A3",
          "allowedSignatureType": {"type": "1FA", "variants": ["possession"]},
          "parameters": {"party.name": "Example"},
          "texts": {
            "en": {"title": "Quick Login", "message": "Tap to log in to ${party.name}."},
            "cs": {"title": "Rychlé přihlášení", "message": "Klepnutím se přihlásíte do ${party.name}."}
          },
          "formData": {"title": "@{title}", "message": "@{message}", "attributes": []}
        }
        """#

    private static let loginPreApproval = #"""
        {
          "name": "login_preApproval",
          "data": "A2",
          "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge", "possession_biometry"]},
          "parameters": {
            "party.id": "1",
            "party.name": "Example",
            "session.id": "1",
            "session.ip-address": "192.0.2.1"
          },
          "texts": {
            "en": {
              "title": "Login Approval",
              "message": "Are you logging in to ${party.name}?",
              "party": "Application",
              "ip": "IP Address",
              "scan": "Scan the code",
              "scanMessage": "Point the camera at the code on the screen where you log in.",
              "warning": "Is somebody on the phone with you?",
              "warningMessage": "No bank asks you to approve a login over the phone.",
              "check": "Check the address of the page",
              "alert": "Never approve what you did not start.",
              "back": "Back",
              "continue": "Continue",
              "more": "Learn more"
            },
            "cs": {
              "title": "Potvrzení přihlášení",
              "message": "Přihlašujete se do ${party.name}?",
              "party": "Aplikace",
              "ip": "IP adresa",
              "scan": "Naskenujte kód",
              "scanMessage": "Namiřte fotoaparát na kód na obrazovce, kde se přihlašujete.",
              "warning": "Mluví s vámi někdo po telefonu?",
              "warningMessage": "Žádná banka nechce potvrdit přihlášení po telefonu.",
              "check": "Zkontrolujte adresu stránky",
              "alert": "Nikdy nepotvrzujte, co jste nezačali.",
              "back": "Zpět",
              "continue": "Pokračovat",
              "more": "Více informací"
            }
          },
          "formData": {
            "title": "@{title}",
            "message": "@{message}",
            "attributes": [
              {"type": "KEY_VALUE", "id": "login.party", "label": "@{party}", "value": "${party.name}"},
              {"type": "KEY_VALUE", "id": "login.ip", "label": "@{ip}", "value": "${session.ip-address}"}
            ]
          },
          "ui": {
            "flipButtons": false,
            "blockApprovalOnCall": true,
            "preApprovalScreen": {"type": "QR_SCAN", "heading": "@{scan}", "message": "@{scanMessage}"},
            "preApprovalScreens": [
              {
                "id": "qr",
                "type": "QR_SCAN",
                "heading": "@{scan}",
                "message": "@{scanMessage}",
                "backButton": true,
                "elements": [],
                "controls": {"axis": "VERTICAL", "decline": {"type": "BACK", "text": "@{back}"}}
              },
              {
                "id": "intro-warning",
                "type": "WARNING",
                "heading": "@{warning}",
                "message": "@{warningMessage}",
                "elements": [
                  {"id": "check", "type": "LISTITEM", "text": "@{check}", "icon": "WARNING"},
                  {"id": "alert", "type": "ALERT", "style": "WARNING", "text": "@{alert}"},
                  {
                    "id": "more", "type": "BUTTON", "action": "LINK", "text": "@{more}",
                    "href": "https://example.com/safety"
                  }
                ],
                "controls": {
                  "flip": false,
                  "axis": "VERTICAL",
                  "decline": {"type": "REJECT", "text": "@{back}"},
                  "approve": {"type": "BUTTON", "text": "@{continue}", "counter": 3}
                }
              }
            ]
          }
        }
        """#

    private static let loginLegacyPreApproval = #"""
        {
          "name": "login_preApproval_legacy",
          "data": "A2",
          "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge", "possession_biometry"]},
          "parameters": {"party.name": "Example"},
          "texts": {
            "en": {
              "title": "Login Approval",
              "message": "Are you logging in to ${party.name}?",
              "heading": "Watch out!",
              "warning": "You may become a victim of an attack.",
              "first": "You started this login yourself",
              "second": "Nobody told you on the phone to do so"
            },
            "cs": {
              "title": "Potvrzení přihlášení",
              "message": "Přihlašujete se do ${party.name}?",
              "heading": "Pozor!",
              "warning": "Můžete se stát obětí útoku.",
              "first": "Přihlášení jste začali sami",
              "second": "Nikdo vám to neřekl po telefonu"
            }
          },
          "formData": {"title": "@{title}", "message": "@{message}", "attributes": []},
          "ui": {
            "preApprovalScreen": {
              "type": "WARNING",
              "heading": "@{heading}",
              "message": "@{warning}",
              "items": ["@{first}", "@{second}"],
              "approvalType": "SLIDER"
            }
          }
        }
        """#

    private static let loginProximity = #"""
        {
          "name": "login_proximity",
          "data": "A2",
          "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge", "possession_biometry"]},
          "proximityCheck": true,
          "parameters": {"party.name": "Example"},
          "texts": {
            "en": {
              "title": "Login Nearby",
              "message": "Scan the code on the screen of ${party.name}.",
              "scan": "Scan the code"
            },
            "cs": {
              "title": "Přihlášení na místě",
              "message": "Naskenujte kód na obrazovce ${party.name}.",
              "scan": "Naskenujte kód"
            }
          },
          "formData": {"title": "@{title}", "message": "@{message}", "attributes": []},
          "ui": {
            "preApprovalScreens": [
              {"id": "qr", "type": "QR_SCAN", "heading": "@{scan}", "message": "@{message}", "elements": []}
            ]
          }
        }
        """#
}
