"""Starts the parent of warm kernels: <python> -u pool.py <module>... <fd>.

It imports the modules and then forks a kernel for each request that comes over
the socket; see assay.pool.
"""

import os
import sys


def main() -> None:
    home = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [home] + [entry for entry in sys.path if entry != home]
    from assay.pool import Pool

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
