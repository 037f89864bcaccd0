def __assay_export__(wanted, folder):
    """Writes copies of globals of the notebook to files in a new folder, for load_globals.py.

    A value is a JSON node: null, a boolean, a string, a number and a list stand for themselves, and
    {kind: ...} for any other value. An array is in a file of its own. values.json has the nodes by
    name, and refused the reasons by name why a value cannot be copied. A name that does not exist
    is in neither.
    """
    import base64
    import datetime
    import json
    import os
    import sys

    max_bytes, max_depth = 64 << 20, 100
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    containers = ("OrderedDict", "Counter", "defaultdict")
    names = globals()

    class NotData(Exception):
        pass

    class Writer:
        def __init__(self):
            self.files = 0
            self.bytes = 0

        def add_bytes(self, count):
            self.bytes += count
            if self.bytes > max_bytes:
                raise NotData("it has more than %d MiB" % (max_bytes >> 20))

        def array(self, values):
            if values.dtype.hasobject:
                items = [self.inner_node(item, 1) for item in values.ravel().tolist()]
                return {"objects": items, "shape": list(values.shape)}
            self.add_bytes(values.nbytes)
            self.files += 1
            name = "%d.npy" % self.files
            numpy.save(os.path.join(folder, name), values, allow_pickle=False)
            return {"array": name}

        def column(self, values):
            dtype = values.dtype
            if isinstance(dtype, numpy.dtype):
                return self.array(values.to_numpy())
            if isinstance(dtype, pandas.CategoricalDtype):
                categories = self.index(dtype.categories)
                codes = values.codes if isinstance(values, pandas.Index) else values.cat.codes
                return {"category": self.array(numpy.asarray(codes)), "categories": categories, "ordered": dtype.ordered}
            items = [self.inner_node(item, 1) for item in values.astype(object).tolist()]
            return {"extension": items, "dtype": str(dtype)}

        def index(self, index):
            names = [self.node(name) for name in index.names]
            if isinstance(index, pandas.RangeIndex):
                return {"range": [index.start, index.stop, index.step], "names": names}
            if isinstance(index, pandas.MultiIndex):
                levels = [self.column(index.get_level_values(i)) for i in range(index.nlevels)]
                return {"levels": levels, "names": names}
            return {"values": self.column(index), "names": names}

        def inner_node(self, x, depth):
            """Returns the node of a value in another one. An empty array there is equal to anything, in a table that is not empty."""
            is_library = type(x).__module__.partition(".")[0] in ("numpy", "pandas")
            if is_library and hasattr(type(x), "shape") and 0 in x.shape:
                raise NotData("it holds an empty %s inside another value, which is equal to anything" % type(x).__name__)
            return self.node(x, depth)

        def node(self, x, depth=0):
            if depth > max_depth:
                raise NotData("it is nested deeper than %d levels" % max_depth)
            kind = type(x)
            self.add_bytes(8)
            if x is None or kind in (bool, float):
                return x
            if kind is int:
                return x if abs(x) < 1 << 64 else {"int": hex(x)}
            if kind is str:
                self.add_bytes(len(x))
                return x
            if kind in (list, tuple, set, frozenset):
                self.add_bytes(8 * len(x))  # before it is copied
            if kind is list:
                return [self.inner_node(item, depth + 1) for item in x]
            if kind in (tuple, set, frozenset):
                return {kind.__name__: [self.inner_node(item, depth + 1) for item in x]}
            if kind is dict or kind.__module__ == "collections" and kind.__name__ in containers:
                items = [[self.node(key, depth + 1), self.inner_node(value, depth + 1)] for key, value in dict.items(x)]
                return {"dict": items, "class": kind.__name__}
            if kind in (bytes, bytearray):
                self.add_bytes(len(x))
                return {kind.__name__: base64.b64encode(x).decode()}
            if kind is complex:
                return {"complex": [x.real, x.imag]}
            if kind in (datetime.datetime, datetime.date, datetime.time) and getattr(x, "tzinfo", None) is None:
                return {kind.__name__: x.isoformat()}
            if kind is datetime.timedelta:
                return {"timedelta": [x.days, x.seconds, x.microseconds]}
            if kind.__module__ == "decimal" and kind.__name__ == "Decimal":
                return {"decimal": str(x)}
            if kind is range:
                return {"range": [x.start, x.stop, x.step]}
            if kind is type(sys):
                return {"module": x.__name__}
            return self.library_node(x, kind, depth)

        def library_node(self, x, kind, depth):
            if kind.__module__ == "assay.reactive.signals" and kind.__name__ == "Signal":
                return {"signal": self.node(x.sample(), depth + 1)}
            if numpy is not None and kind is numpy.ndarray:
                return self.array(x)
            if pandas is not None:
                if kind is pandas.Series:
                    return {"series": self.column(x), "index": self.index(x.index), "name": self.node(x.name)}
                if kind is pandas.DataFrame:
                    columns = [self.column(x.iloc[:, i]) for i in range(x.shape[1])]
                    return {"frame": columns, "columns": self.index(x.columns), "index": self.index(x.index)}
                if isinstance(x, pandas.Index):
                    return {"index": self.index(x)}
                if x is pandas.NaT or x is pandas.NA:
                    return {"missing": "NaT" if x is pandas.NaT else "NA"}
                if kind is pandas.Timestamp:
                    return {"timestamp": x.isoformat(), "zone": None if x.tz is None else str(x.tz)}
                if kind is pandas.Timedelta:
                    return {"pandas_timedelta": x.isoformat()}
            if numpy is not None and isinstance(x, numpy.generic) and kind.__module__ == "numpy":
                return {"scalar": self.array(numpy.asarray(x))}
            raise NotData("it holds a value of type %s.%s" % (kind.__module__, kind.__qualname__))

    os.mkdir(folder)
    writer, values, refused = Writer(), {}, {}
    for name in wanted:
        if name not in names:
            continue
        try:
            values[name] = writer.node(names[name])
        except NotData as error:
            refused[name] = str(error)
        except Exception as error:
            refused[name] = "copying it raised %s" % type(error).__name__
    with open(os.path.join(folder, "values.json"), "w") as file:
        json.dump({"values": values, "refused": refused}, file)
