"""Normal forms of CEL and core-CEL: rewritings that keep the meaning, each in a module of its own."""
