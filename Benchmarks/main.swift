print("no cases yet")
