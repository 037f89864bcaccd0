"""The socket to the server: frames, messages, and the text that the user's code prints."""
