"""The project's own commands (COMMANDS_MODULE)."""
