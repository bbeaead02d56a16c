"""Every key of the configuration: its type, its range and its sentence, one module per block."""
