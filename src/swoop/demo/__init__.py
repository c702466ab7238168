"""The demonstration: a simulated feed of posts, and a report of what was seen. ``swoop demo`` runs it.

What is here: ``feed`` writes posts as time goes by, ``report`` writes one HTML file at the end.

What you may touch: everything, as long as the posts stay believable and the report keeps text as text.
"""
