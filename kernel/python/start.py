"""Starts the kernel: <python> -u start.py <fd>.

fd is the number of the inherited end of a socketpair, over which the kernel
speaks with the server. -u matters: it also makes C's stdout unbuffered.
"""

import os
import sys

if sys.version_info < (3, 9):
    sys.exit("the kernel needs Python 3.9 or newer, this is " + sys.version.split()[0])


def main() -> None:
    home = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [home] + [entry for entry in sys.path if entry != home]
    from assay.kernel import Kernel

    # From here on as in a notebook: the current directory comes first, and the
    # kernel's modules are found through their package, never through sys.path.
    sys.path[0] = ""
    descriptor = int(sys.argv[-1])
    sys.argv = [""]
    Kernel(descriptor).serve()


if __name__ == "__main__":
    main()
