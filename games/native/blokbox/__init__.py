"""The Blokbox family: two players place pieces that touch their own colour at corners and never at sides."""
