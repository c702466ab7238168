"""What the demonstration is made of: a simulated feed of posts, and a page to keep. ``swoop demo`` runs it."""
