"""The Reversi engine: exact endings, evaluation by patterns, principal variation search, and the engine around them."""
