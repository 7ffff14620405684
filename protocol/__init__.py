"""The GGP match protocol: text, messages, server and client. Knows syntax, dialects and HTTP; no rules, no search."""
