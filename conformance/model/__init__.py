"""The nouns of the harness: frozen values and enums, standard library only, no I/O."""
