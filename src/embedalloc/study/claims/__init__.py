"""The claims ledger: the paper's statements and what the results say of each."""
