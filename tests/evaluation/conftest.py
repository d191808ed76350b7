"""Figures are examined through what matplotlib was told to draw."""
