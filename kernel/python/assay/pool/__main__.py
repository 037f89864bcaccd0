"""Starts the parent of warm kernels: <python> -u assay/pool/__main__.py <module>... <fd>.

fd is the descriptor of an inherited socket. The parent imports the modules and
then forks a kernel for each request that comes over the socket; see
assay.pool.parent.
"""

import os
import sys


def main() -> None:
    """Runs the warm parent and, in each process that it forks, a kernel."""
    folder = os.path.dirname(os.path.abspath(__file__))
    package = os.path.dirname(folder)
    # Python has put this folder first on the path, where its modules must not be found.
    sys.path[:] = [os.path.dirname(package)] + [entry for entry in sys.path if entry != folder]
    from assay.pool.parent import WarmParent

    # As for a kernel that is started cold, except that "" is added only in the
    # forks: nothing may be imported from the parent's folder.
    del sys.path[0]
    modules, descriptor = sys.argv[1:-1], int(sys.argv[-1])
    sys.argv = [""]
    child = WarmParent(descriptor).serve(modules)
    sys.path.insert(0, "")
    child.become_kernel()


if __name__ == "__main__":
    main()
