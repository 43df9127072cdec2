"""EQL, Elastic's Event Query Language: syntax, meaning, and where its engines differ (docs/guide/eql.md)."""
