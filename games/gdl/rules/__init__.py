"""Rules as data, and whether they mean anything: normal form, checks, safety, dependencies between relations."""
