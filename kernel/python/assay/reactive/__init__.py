"""Signals, which cells read and write them, and which cells run again because of that."""
