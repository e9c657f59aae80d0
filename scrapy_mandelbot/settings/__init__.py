"""Settings: their names and values, read once, and what is wrong with them."""
