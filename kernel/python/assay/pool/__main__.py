"""Starts the parent of warm kernels: <python> -u assay/pool/__main__.py <module>... <fd>.

It imports the modules and then forks a kernel for each request that comes over
the socket; see assay.pool.parent.
"""

import os
import sys


def main() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))
    package = os.path.dirname(folder)
    # Python has put this folder first, where the package's modules must not be found.
    sys.path[:] = [os.path.dirname(package)] + [entry for entry in sys.path if entry != folder]
    from assay.pool.parent import Pool

    # As for a kernel that starts cold, but for the current directory, from which
    # nothing may be imported here: it is not the kernels'.
    del sys.path[0]
    modules, descriptor = sys.argv[1:-1], int(sys.argv[-1])
    sys.argv = [""]
    birth = Pool(descriptor).serve(modules)
    sys.path.insert(0, "")
    birth.live()


if __name__ == "__main__":
    main()
