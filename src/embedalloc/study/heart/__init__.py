"""Section 3.4: the heart-disease study, from the patients to Table 1."""
