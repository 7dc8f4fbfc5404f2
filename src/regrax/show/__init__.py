"""What is shown to people: pages that open in a browser."""
