"""Event expressions and regular expressions without the empty word, each exactly as the other (vldb92, section 2.2)."""
