"""An archive of a finished run: one zip that says what is in it and that others can check."""
