"""Verifies certificates, logs, key sets and audit bundles of Expunge, from their documents alone."""

__version__ = "0.1.0"
