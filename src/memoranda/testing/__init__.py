"""What users test their own agents and stores with: fakes and the store contract."""
