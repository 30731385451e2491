"""Keeps a memory true over time: expiry, decay, enrichment, audits, schedules."""
