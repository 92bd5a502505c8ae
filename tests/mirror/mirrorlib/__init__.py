"""Shared pieces of build, synth, serve and check. Standard library only."""
