"""The steps of the server's sandbox that a forked kernel takes itself."""
