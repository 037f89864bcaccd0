"""Runs in a kernel that no code of the agent has touched: it looks for the names that a grader's
code uses, and makes the notebook's globals from the files that export_globals.py has written.
"""


def __assay_names__(sources):
    """Returns, as JSON, a list of the global names that each source may read, for all sources.

    Before that it closes this process to the programs that a check starts, which may be the agent's: they could
    read the check in its memory.
    """
    import ast
    import builtins
    import ctypes
    import json

    pr_set_dumpable = 4
    if ctypes.CDLL(None, use_errno=True).prctl(pr_set_dumpable, 0) != 0:
        raise OSError(ctypes.get_errno(), "the memory of the check cannot be protected")

    found = []
    for source in sources:
        text = source.strip()
        names = {text} if text.isidentifier() else set()
        try:
            tree = compile(source, "<check>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not hasattr(builtins, node.id)}
        except (SyntaxError, ValueError, RecursionError):
            pass  # running the source will say what is wrong
        found.append(sorted(names))

    class JSON:
        def __repr__(self):
            return json.dumps(found)

    return JSON()


def __assay_load__(wanted, folder, workdir):
    """Makes globals of the wanted values in a folder, and enters the copy of the working folder.

    Returns, as JSON, the reasons by name why values are missing. The files in the folder may have
    been written by code of the agent, and have anything in them.
    """
    import base64
    import collections
    import datetime
    import decimal
    import importlib
    import json
    import os
    import sys

    sys.path[:] = [path for path in sys.path if path and not workdir.startswith(path + os.sep)]  # no module of the agent
    os.chdir("/")  # modules that look around when they are imported find nothing of the agent's

    def pandas():
        return importlib.import_module("pandas")

    def array(node):
        import numpy

        if "array" in node:
            values = numpy.load(os.path.join(folder, os.path.basename(node["array"])), allow_pickle=False)
            kind = without_float16(values.dtype)
            return values if kind == values.dtype else values.astype(kind)
        values = numpy.empty(len(node["objects"]), dtype=object)
        for i, item in enumerate(node["objects"]):
            values[i] = value(item)  # one by one: an item may be a list
        return values.reshape(node["shape"])

    def without_float16(kind):
        """Returns a dtype, with float32 for float16: NumPy takes every large int beside one for infinite."""
        import numpy

        if kind.subdtype is not None:
            base, shape = kind.subdtype
            return numpy.dtype((without_float16(base), shape))
        if kind.names is not None:
            return numpy.dtype([(name, without_float16(kind[name])) for name in kind.names])
        is_float16 = kind.kind == "f" and kind.itemsize == 2  # in any order of its bytes
        return numpy.dtype(numpy.float32) if is_float16 else kind

    def column(node):
        if "category" in node:
            return pandas().Categorical.from_codes(array(node["category"]), index(node["categories"]), node["ordered"])
        if "extension" in node:
            kind = extension_dtype(node["dtype"])
            return without_missing(pandas().array([value(item) for item in node["extension"]], dtype=kind))
        return array(node)

    def extension_dtype(text):
        """Returns the text of an extension dtype, without float16. Refuses what the exporter does not write."""
        kind = pandas().api.types.pandas_dtype(text)
        if not isinstance(kind, pandas().api.extensions.ExtensionDtype) or str(kind) != text:
            raise ValueError("%s is no dtype of an extension" % text)
        return text.replace("float16", "float32").replace("halffloat", "float")

    def without_missing(values):
        """Returns values with NaN instead of NA: a comparison with NA is NA, and all() takes that for true."""
        if values.dtype.na_value is not pandas().NA or not values.isna().any():
            return values
        kind = float if getattr(values.dtype, "kind", "O") in "iuf" else object
        return values.to_numpy(dtype=kind, na_value=float("nan"))

    def labels(node):
        """Returns the labels of an index, never of an extension type: such an index is equal to everything."""
        result = column(node)
        return list(result) if "extension" in node else result

    def index(node):
        names = [value(name) for name in node["names"]]
        if "range" in node:
            return pandas().RangeIndex(*node["range"], name=names[0])
        if "levels" in node:
            return pandas().MultiIndex.from_arrays([labels(level) for level in node["levels"]], names=names)
        kind = object if "extension" in node["values"] else None
        return pandas().Index(labels(node["values"]), dtype=kind, name=names[0])

    def frame(node):
        rows = index(node["index"])
        columns = {i: pandas().Series(column(values), rows) for i, values in enumerate(node["frame"])}
        result = pandas().DataFrame(columns, rows)
        result.columns = index(node["columns"])
        return result

    def mapping(node):
        items = [(value(key), value(item)) for key, item in node["dict"]]
        if node["class"] == "defaultdict":
            return collections.defaultdict(None, items)
        kinds = {"OrderedDict": collections.OrderedDict, "Counter": collections.Counter}
        return kinds.get(node["class"], dict)(dict(items))

    def signal(node):
        from assay import Signal

        return Signal(value(node["signal"]))

    def timestamp(node):
        result = pandas().Timestamp(node["timestamp"])
        return result if node["zone"] is None else result.tz_convert(node["zone"])

    # The agent may not choose what is imported: some modules run code of the current folder.
    abbreviations = {
        "np": "numpy",
        "pd": "pandas",
        "plt": "matplotlib.pyplot",
        "mpl": "matplotlib",
        "sns": "seaborn",
        "sp": "scipy",
        "st": "scipy.stats",
        "sm": "statsmodels.api",
        "smf": "statsmodels.formula.api",
        "nx": "networkx",
        "px": "plotly.express",
        "go": "plotly.graph_objects",
        "pl": "polars",
        "sc": "scanpy",
        "ad": "anndata",
        "xr": "xarray",
        "F": "torch.nn.functional",
        "tf": "tensorflow",
        "jnp": "jax.numpy",
        "ET": "xml.etree.ElementTree",
        "dt": "datetime",
        "path": os.path.__name__,
    }

    # A module below one of these packages is known by its last name, as pyplot. Importing it imports the
    # packages above it, which the agent could choose too.
    packages = {
        "PIL",
        "collections",
        "concurrent",
        "matplotlib",
        "networkx",
        "numpy",
        "os",
        "pandas",
        "plotly",
        "scipy",
        "skimage",
        "sklearn",
        "statsmodels",
        "urllib",
        "xml",
    }

    def is_known(path, name):
        if path in (name, abbreviations.get(name)):
            return True
        parts = path.split(".")
        hidden = [part for part in parts if part.startswith("_") or part in ("conftest", "setup", "test", "tests")]
        return parts[0] in packages and parts[-1] == name and not hidden

    def module(node, name):
        if not is_known(node["module"], name):
            raise ValueError("the module %s is not known as %s" % (node["module"], name))
        return importlib.import_module(node["module"])

    makers = {
        "int": lambda node: int(node["int"], 16),
        "tuple": lambda node: tuple(map(value, node["tuple"])),
        "set": lambda node: set(map(value, node["set"])),
        "frozenset": lambda node: frozenset(map(value, node["frozenset"])),
        "dict": mapping,
        "bytes": lambda node: base64.b64decode(node["bytes"]),
        "bytearray": lambda node: bytearray(base64.b64decode(node["bytearray"])),
        "complex": lambda node: complex(*node["complex"]),
        "datetime": lambda node: datetime.datetime.fromisoformat(node["datetime"]),
        "date": lambda node: datetime.date.fromisoformat(node["date"]),
        "time": lambda node: datetime.time.fromisoformat(node["time"]),
        "timedelta": lambda node: datetime.timedelta(*node["timedelta"]),
        "decimal": lambda node: decimal.Decimal(node["decimal"]),
        "range": lambda node: range(*node["range"]),
        "signal": signal,
        "array": array,
        "objects": array,
        "scalar": lambda node: array(node["scalar"])[()],
        "frame": frame,
        "series": lambda node: pandas().Series(column(node["series"]), index(node["index"]), name=value(node["name"])),
        "index": lambda node: index(node["index"]),
        "missing": lambda node: pandas().NaT if node["missing"] == "NaT" else pandas().NA,
        "timestamp": timestamp,
        "pandas_timedelta": lambda node: pandas().Timedelta(node["pandas_timedelta"]),
    }

    def value(node):
        if isinstance(node, list):
            return [value(item) for item in node]
        if isinstance(node, dict):
            return makers[next(iter(node))](node)
        return node

    max_bytes = 256 << 20  # 64 MiB of values, which may take more in JSON
    if sum(entry.stat(follow_symlinks=False).st_size for entry in os.scandir(folder)) > max_bytes:
        raise ValueError("the copies have more than %d MiB" % (max_bytes >> 20))
    with open(os.path.join(folder, "values.json")) as file:
        exported = json.load(file)
    refused = {str(name): str(reason) for name, reason in exported["refused"].items()}
    for name, node in exported["values"].items():
        if name not in wanted:
            continue
        try:
            is_module = isinstance(node, dict) and "module" in node
            globals()[name] = module(node, name) if is_module else value(node)
        except Exception as error:
            refused[name] = "its copy cannot be read: %s: %s" % (type(error).__name__, error)
    os.chdir(workdir)

    class JSON:
        def __repr__(self):
            return json.dumps(refused)

    return JSON()
