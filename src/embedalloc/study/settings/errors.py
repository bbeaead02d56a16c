"""The error of a configuration, apart from the words that explain it: every job knows it."""


class ConfigError(ValueError):
    """The configuration does not work; the message names the keys and what to change."""
