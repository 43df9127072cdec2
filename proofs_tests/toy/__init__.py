"""A language of words, to show what a language needs: `A B C` matches three consecutive events of these types."""
