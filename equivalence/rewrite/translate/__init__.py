"""Translations between core-CEL (2017) and CEL (2021) that keep the complex events at every position."""
