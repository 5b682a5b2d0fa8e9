"""What a run found, as text, JSON and Markdown, and the progress line of a run that goes on."""
