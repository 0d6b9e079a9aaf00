print("mobile-token")
