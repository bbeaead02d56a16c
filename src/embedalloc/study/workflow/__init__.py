"""What every job of the workflow shares: settings, tables, files, logs, code as input, style."""
