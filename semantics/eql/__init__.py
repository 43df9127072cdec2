"""EQL, Elastic's Event Query Language: syntax, meaning, and where its engines part (docs/guide/eql.md)."""
