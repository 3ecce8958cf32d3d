"""Lock and evidence to one data document."""
