"""Records of what was shown to work, and their tiers."""

from builder.evidence.record import Circumstances, Subject, failures, record, why_not_higher

__all__ = ["Circumstances", "Subject", "failures", "record", "why_not_higher"]
