"""core-CEL: Bucchi, Grez, Riveros, Ugarte, "Foundations of Complex Event Processing", 2017 (cited as cep17)."""
