"""The confusion matrices behind a printed table of metrics."""
