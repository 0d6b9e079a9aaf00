extension OperationTemplate {
    static let paymentTemplates = [payment, paymentWithConversion, paymentAtShop, paymentUnderSuspicion]

    private static let payment = #"""
        {
          "name": "payment",
          "operationType": "authorize_payment",
          "data": "A1*A${amount}${currency}*I${iban}*R${reference}*N${note}",
          "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge", "possession_biometry"]},
          "parameters": {
            "amount": "100.00",
            "currency": "CZK",
            "iban": "CZ5508000000001234567899",
            "reference": "2026",
            "note": "Utility Bill Payment"
          },
          "texts": {
            "en": {
              "title": "Confirm Payment",
              "message": "Please confirm the following payment:",
              "heading": "Outgoing Payment",
              "amount": "Amount",
              "account": "To Account",
              "note": "Note",
              "success": "The payment is on its way",
              "failure": "The payment was not approved",
              "reject": "The payment was rejected",
              "review": "Payment approved"
            },
            "cs": {
              "title": "Potvrzení platby",
              "message": "Potvrďte prosím následující platbu:",
              "heading": "Odchozí platba",
              "amount": "Částka",
              "account": "Na účet",
              "note": "Poznámka",
              "success": "Platba byla odeslána",
              "failure": "Platba nebyla potvrzena",
              "reject": "Platba byla zamítnuta",
              "review": "Platba potvrzena"
            },
            "de": {
              "title": "Zahlung bestätigen",
              "message": "Bitte bestätigen Sie die folgende Zahlung:",
              "heading": "Ausgehende Zahlung",
              "amount": "Betrag",
              "account": "Auf das Konto",
              "note": "Verwendungszweck",
              "success": "Die Zahlung ist unterwegs",
              "failure": "Die Zahlung wurde nicht freigegeben",
              "reject": "Die Zahlung wurde abgelehnt",
              "review": "Zahlung freigegeben"
            }
          },
          "formData": {
            "title": "@{title}",
            "message": "@{message}",
            "resultTexts": {"success": "@{success}", "failure": "@{failure}", "reject": "@{reject}"},
            "attributes": [
              {"type": "HEADING", "id": "payment.heading", "label": "@{heading}"},
              {
                "type": "AMOUNT", "id": "payment.amount", "label": "@{amount}",
                "amount": "${amount:number}", "currency": "${currency}"
              },
              {"type": "KEY_VALUE", "id": "payment.account", "label": "@{account}", "value": "${iban}"},
              {"type": "NOTE", "id": "payment.note", "label": "@{note}", "note": "${note}"}
            ]
          },
          "ui": {
            "flipButtons": true,
            "blockApprovalOnCall": false,
            "postApprovalScreen": {
              "type": "REVIEW",
              "heading": "@{review}",
              "message": "@{success}",
              "payload": {
                "attributes": [
                  {
                    "type": "AMOUNT", "id": "payment.amount", "label": "@{amount}",
                    "amount": "${amount:number}", "currency": "${currency}"
                  },
                  {"type": "NOTE", "id": "payment.note", "label": "@{note}", "note": "${note}"}
                ]
              }
            }
          }
        }
        """#

    private static let paymentWithConversion = #"""
        {
          "name": "payment_conversion",
          "operationType": "authorize_payment",
          "data": "A1*A${amount}${currency}*I${iban}*N${note}",
          "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge", "possession_biometry"]},
          "parameters": {
            "amount": "100.00",
            "currency": "USD",
            "converted": "2199.40",
            "account.currency": "CZK",
            "iban": "GB33BUKB20201555555555",
            "note": "Invoice"
          },
          "texts": {
            "en": {
              "title": "Confirm Payment",
              "message": "Please confirm the payment abroad:",
              "conversion": "Conversion Rate",
              "account": "To Account",
              "alert": "Exchange rate",
              "alertTitle": "The rate may change",
              "alertMessage": "The amount is converted when the payment is sent."
            },
            "cs": {
              "title": "Potvrzení platby",
              "message": "Potvrďte prosím zahraniční platbu:",
              "conversion": "Směnný kurz",
              "account": "Na účet",
              "alert": "Kurz",
              "alertTitle": "Kurz se může změnit",
              "alertMessage": "Částka se přepočítá při odeslání platby."
            }
          },
          "formData": {
            "title": "@{title}",
            "message": "@{message}",
            "attributes": [
              {
                "type": "ALERT", "id": "payment.alert", "label": "@{alert}", "alertType": "INFO",
                "title": "@{alertTitle}", "message": "@{alertMessage}"
              },
              {
                "type": "AMOUNT_CONVERSION", "id": "payment.conversion", "label": "@{conversion}", "dynamic": true,
                "sourceAmount": "${amount:number}", "sourceCurrency": "${currency}",
                "targetAmount": "${converted:number}", "targetCurrency": "${account.currency}"
              },
              {"type": "KEY_VALUE", "id": "payment.account", "label": "@{account}", "value": "${iban}"}
            ]
          }
        }
        """#

    private static let paymentAtShop = #"""
        {
          "name": "payment_shop",
          "operationType": "authorize_payment",
          "data": "A1*A${amount}${currency}*T${merchant}",
          "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge", "possession_biometry"]},
          "parameters": {
            "amount": "49.90",
            "currency": "EUR",
            "merchant": "Example Shop",
            "redirect.url": "https://shop.example.com/paid"
          },
          "texts": {
            "en": {
              "title": "Confirm Purchase",
              "message": "You are paying at ${merchant}.",
              "merchant": "Shop",
              "amount": "Amount",
              "picture": "Your order",
              "about": "Find out more about ${merchant}",
              "done": "Purchase approved",
              "return": "Return to the shop"
            },
            "cs": {
              "title": "Potvrzení nákupu",
              "message": "Platíte v obchodě ${merchant}.",
              "merchant": "Obchod",
              "amount": "Částka",
              "picture": "Vaše objednávka",
              "about": "Více o obchodě ${merchant}",
              "done": "Nákup potvrzen",
              "return": "Zpět do obchodu"
            }
          },
          "formData": {
            "title": "@{title}",
            "message": "@{message}",
            "attributes": [
              {
                "type": "PARTY_INFO", "id": "shop.party", "label": "@{merchant}",
                "partyInfo": {
                  "logoUrl": "https://shop.example.com/logo.svg", "name": "${merchant}",
                  "description": "@{about}", "websiteUrl": "https://shop.example.com"
                }
              },
              {
                "type": "AMOUNT", "id": "shop.amount", "label": "@{amount}",
                "amount": "${amount:number}", "currency": "${currency}"
              },
              {
                "type": "IMAGE", "id": "shop.picture", "label": "@{picture}",
                "thumbnailUrl": "https://shop.example.com/thumbnail.png",
                "originalUrl": "https://shop.example.com/order.png"
              }
            ]
          },
          "ui": {
            "postApprovalScreen": {
              "type": "MERCHANT_REDIRECT",
              "heading": "@{done}",
              "message": "@{return}",
              "payload": {"redirectText": "@{return}", "redirectUrl": "${redirect.url}", "countdown": 5}
            }
          }
        }
        """#

    private static let paymentUnderSuspicion = #"""
        {
          "name": "payment_suspicious",
          "operationType": "authorize_payment",
          "data": "A1*A${amount}${currency}*I${iban}",
          "fraudWarning": true,
          "expiresIn": 120,
          "maxFailureCount": 3,
          "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
          "parameters": {"amount": "250000", "currency": "CZK", "iban": "CZ5508000000001234567899"},
          "texts": {
            "en": {
              "title": "Unusual Payment",
              "message": "We stopped this payment because it is unusual for you.",
              "alert": "Possible fraud",
              "alertMessage": "If somebody told you to make this payment, reject it.",
              "amount": "Amount",
              "account": "To Account"
            },
            "cs": {
              "title": "Neobvyklá platba",
              "message": "Platbu jsme zastavili, protože je pro vás neobvyklá.",
              "alert": "Možný podvod",
              "alertMessage": "Pokud vám platbu někdo nadiktoval, zamítněte ji.",
              "amount": "Částka",
              "account": "Na účet"
            }
          },
          "formData": {
            "title": "@{title}",
            "message": "@{message}",
            "attributes": [
              {
                "type": "ALERT", "id": "payment.alert", "label": "@{alert}", "alertType": "WARNING",
                "message": "@{alertMessage}"
              },
              {
                "type": "AMOUNT", "id": "payment.amount", "label": "@{amount}",
                "amount": "${amount:number}", "currency": "${currency}"
              },
              {"type": "KEY_VALUE", "id": "payment.account", "label": "@{account}", "value": "${iban}"}
            ]
          },
          "ui": {"flipButtons": true, "blockApprovalOnCall": true}
        }
        """#
}
