"""The confusion matrices behind a printed table of metrics."""

from embedalloc.audit.printed import Audit, AuditError, audit_table, read_metrics_table

__all__ = ["Audit", "AuditError", "audit_table", "read_metrics_table"]
