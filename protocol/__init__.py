"""The GGP match protocol: syntax, dialects and HTTP.

terms         terms, places in a text, syntax errors
spelling      tokens as the rules of a match spell them
constants     constants with parentheses and without
kif           reader and writer of prefix GDL
infix         reader and writer of infix GDL
infix_parser  parser of infix GDL
sheets        reader of rulesheets in either syntax
vocabulary    messages and replies as data
messages      text to message, reply to text: the player's side
compose       message to text: the manager's side
connections   what a server's connections hold
fair_queue    a queue in which nobody keeps others waiting
sparing_log   a log of lines that strangers cause
browsers      which requests of browsers are answered
server        the player's HTTP side
client        the manager's HTTP side
scramble      renamings of a game's tokens
"""
