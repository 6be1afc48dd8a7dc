"""What a report computes, one file a subject. Nothing here knows words, charts or HTML."""
