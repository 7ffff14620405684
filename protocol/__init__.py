"""The GGP match protocol: text, messages, server and client. Knows syntax, dialects and HTTP; no rules, no search.

terms       plain data: terms, places in a text, the error for a text that is none
kif         prefix GDL, read and written
infix       infix GDL, the same; infix_parser: its parser
vocabulary  messages and replies as data
messages    text to message, reply to text: the player's side
compose     message to text: the manager's side
server      the player's HTTP side
client      the manager's HTTP side
scramble    renamings of a game's tokens
"""
