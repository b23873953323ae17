"""The user interface. Imports refusion_core; nothing there imports this."""
