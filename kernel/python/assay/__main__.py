"""Starts the kernel: <python> -u assay/__main__.py <fd>.

fd is the descriptor of the inherited end of a socketpair, over which the kernel
talks to the server. -u is needed: it also makes C's stdout unbuffered.
"""

import os
import sys

if sys.version_info < (3, 9):
    sys.exit("the kernel needs Python 3.9 or newer, this is " + sys.version.split()[0])


def main() -> None:
    package = os.path.dirname(os.path.abspath(__file__))
    # Python has put the package's own folder first on the path, where its modules must not be found.
    sys.path[:] = [os.path.dirname(package)] + [entry for entry in sys.path if entry != package]
    from assay.kernel import Kernel

    # From here on as in a notebook: the current folder comes first, and the
    # kernel's modules are found through their package, never through sys.path.
    sys.path[0] = ""
    descriptor = int(sys.argv[-1])
    sys.argv = [""]
    Kernel(descriptor).serve()


if __name__ == "__main__":
    main()
