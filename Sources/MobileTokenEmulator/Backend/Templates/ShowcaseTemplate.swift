extension OperationTemplate {
    /// Every attribute type there is, and one that nobody knows, for those who draw them.
    static let showcaseTemplate = #"""
        {
          "name": "showcase",
          "data": "A0*T${text}",
          "allowedSignatureType": {
            "type": "2FA",
            "variants": ["possession_knowledge", "possession_biometry"]
          },
          "parameters": {"text": "Everything at once"},
          "texts": {
            "en": {
              "title": "Showcase", "message": "${text}", "heading": "Heading", "label": "Label", "note": "Two\nlines",
              "done": "Done"
            },
            "cs": {
              "title": "Přehlídka", "message": "${text}", "heading": "Nadpis", "label": "Popisek",
              "note": "Dva\nřádky", "done": "Hotovo"
            }
          },
          "formData": {
            "title": "@{title}",
            "message": "@{message}",
            "resultTexts": {"success": "@{done}"},
            "attributes": [
              {
                "type": "ALERT", "id": "alert", "label": "@{label}", "alertType": "SUCCESS",
                "title": "@{heading}", "message": "${text}"
              },
              {"type": "HEADING", "id": "heading", "label": "@{heading}"},
              {"type": "AMOUNT", "id": "amount", "label": "@{label}", "amount": 2199.40, "currency": "CZK"},
              {
                "type": "AMOUNT_CONVERSION", "id": "conversion", "label": "@{label}", "dynamic": false,
                "sourceAmount": 100.00, "sourceCurrency": "USD", "targetAmount": 2199.40, "targetCurrency": "CZK"
              },
              {"type": "KEY_VALUE", "id": "keyValue", "label": "@{label}", "value": "${text}"},
              {"type": "NOTE", "id": "note", "label": "@{label}", "note": "@{note}"},
              {
                "type": "IMAGE", "id": "image", "label": "@{label}",
                "thumbnailUrl": "https://example.com/thumbnail.png", "originalUrl": "https://example.com/image.png"
              },
              {
                "type": "PARTY_INFO", "id": "party", "label": "@{label}",
                "partyInfo": {
                  "logoUrl": "https://example.com/logo.svg", "name": "Example", "description": "${text}",
                  "websiteUrl": "https://example.com"
                }
              },
              {"type": "HOLOGRAM", "id": "hologram", "label": "@{label}", "wavelength": 532}
            ]
          },
          "ui": {
            "flipButtons": false,
            "blockApprovalOnCall": false,
            "preApprovalScreens": [
              {"id": "info", "type": "INFO", "heading": "@{heading}", "message": "${text}", "elements": []}
            ],
            "postApprovalScreen": {
              "type": "GENERIC", "heading": "@{done}", "message": "${text}", "payload": {"custom": {"nested": true}}
            }
          }
        }
        """#
}
