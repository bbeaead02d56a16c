"""The paper's experiments as pure functions, and what the workflow needs around them."""
