"""The confusion matrices behind a printed table of metrics."""

from embedalloc.audit.metrics_file import AuditError, read_metrics_table
from embedalloc.audit.printed import Audit, audit_table, implied_metrics

__all__ = ["Audit", "AuditError", "audit_table", "implied_metrics", "read_metrics_table"]
