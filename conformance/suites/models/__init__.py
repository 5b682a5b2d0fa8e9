"""The suite ``models``: the text-generation architectures of the installed transformers, each as a tiny model."""
