"""Complex event logic: Grez, Riveros, Ugarte, Vansummeren, TODS 2021 (cited as tods21)."""
