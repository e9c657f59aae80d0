"""Settings: their names, values and checks."""
