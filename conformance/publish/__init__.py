"""The static coverage website: findings of one run as pages of HTML and two JSON files."""
