"""The Python kernel: runs notebook cells for the server at the other end of a socket.

kernel.Kernel is where to begin. The main thread runs the user's code, one piece
at a time; reader.Reader, on a thread of its own, receives requests and answers
those that need not wait. Everything here is standard library, and what is not
always needed is imported when it is.

The kernel's threads are started below the module threading, so that its
enumerate() lists the user's threads only.
"""
