def __assay_probe__(expression, want_len, want_value):
    """Evaluates an expression with the notebook's globals; returns an object whose repr is JSON.

    The JSON has the value's type and, if wanted, its len and value; or why there is
    no value: {"raised": ...} or {"not_json": ...}. The notebook's code may have
    rebound any global name, so builtins come from the builtins module. Its classes
    may override any method, so the methods of the built-in base classes are called
    instead. Nothing else is imported.
    """
    import builtins as b

    names = b.globals()
    names.pop("__assay_probe__", None)
    # Assay's Python kernel gives this code a dict subclass that finds the builtins as
    # they were at the start and then the notebook's globals: the expression needs no
    # other names. In other kernels the expression is evaluated in the globals.
    own_builtins = __builtins__
    finds_globals = b.type(own_builtins) not in (b.dict, b.type(b))
    scope = {"__name__": "__main__", "__builtins__": own_builtins} if finds_globals else names
    max_depth, max_json_bytes = 100, 1_000_000

    class NotJSON(b.Exception):
        pass

    class JSONText:
        """JSON text in pieces, of at most max_json_bytes bytes, all ASCII; its repr is the text."""

        def __init__(self):
            self.pieces = []
            self.size = 0

        def add(self, piece):
            self.size += b.len(piece)
            if self.size > max_json_bytes:
                raise NotJSON("more than %d bytes of JSON; look at a part" % max_json_bytes)
            self.pieces.append(piece)

        def __repr__(self):
            return "".join(self.pieces)

    mro = b.type.__dict__["__mro__"].__get__
    name_of = b.type.__dict__["__name__"].__get__
    module_of = b.type.__dict__["__module__"].__get__
    flags_of = b.type.__dict__["__flags__"].__get__

    def is_heap_type(kind):  # made by a class statement: Py_TPFLAGS_HEAPTYPE is set
        return b.bool(flags_of(kind) & 1 << 9)

    def is_a(x, *kinds):
        return b.any(base in kinds for base in mro(b.type(x)))

    def describe(error):
        try:
            text = b.str(error)
        except b.Exception:
            text = "(no message)"
        return name_of(b.type(error)) + ": " + b.str.__str__(text)[:1000]

    def to_json_string(text):
        out = ['"']
        for c in b.str.__str__(text):
            code = b.ord(c)
            if c in '"\\':
                out.append("\\" + c)
            elif 32 <= code < 127:
                out.append(c)
            elif code < 0x10000:
                out.append("\\u%04x" % code)
            else:
                code -= 0x10000
                out.append("\\u%04x\\u%04x" % (0xD800 | code >> 10, 0xDC00 | code & 0x3FF))
        return "".join(out) + '"'

    def float_to_json(x):
        text = b.float.__repr__(x)
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)

    def scalar_to_json(x):  # None if x is not a scalar
        if x is None or x is True or x is False:
            return {None: "null", True: "true", False: "false"}[x]
        if is_a(x, b.int):
            return b.int.__repr__(b.int.__int__(x))
        if is_a(x, b.float):
            return float_to_json(b.float.__float__(x))
        if is_a(x, b.str):
            if b.str.__len__(x) > max_json_bytes:
                raise NotJSON("more than %d bytes of JSON; look at a part" % max_json_bytes)
            return to_json_string(x)
        return None

    def convert_numpy(x):
        for base in mro(b.type(x)):
            if module_of(base) == "numpy" and name_of(base) in ("generic", "ndarray") and not is_heap_type(base):
                return b.type.__getattribute__(base, "tolist")(x)
        return x

    def write_json(x, out, depth=0):
        if depth > max_depth:
            raise NotJSON("nested deeper than %d levels" % max_depth)
        x = convert_numpy(x)
        text = scalar_to_json(x)
        if text is not None:
            out.add(text)
        elif is_a(x, b.list, b.tuple):
            items = b.list.__iter__(x) if is_a(x, b.list) else b.tuple.__iter__(x)
            out.add("[")
            for i, item in b.enumerate(items):
                out.add("," if i else "")
                write_json(item, out, depth + 1)
            out.add("]")
        elif is_a(x, b.dict):
            out.add("{")
            for i, item in b.enumerate(b.dict.items(x)):
                out.add(("," if i else "") + key_to_json(item[0]) + ":")
                write_json(item[1], out, depth + 1)
            out.add("}")
        else:
            kind = b.type(x)
            iterable = b.any("__iter__" in base.__dict__ for base in mro(kind))
            hint = "; turn it into lists or an object" if iterable else ""
            raise NotJSON("%s.%s is not JSON%s" % (module_of(kind), name_of(kind), hint))

    def key_to_json(k):
        k = convert_numpy(k)
        text = scalar_to_json(k)
        if text is None:
            raise NotJSON("a dict with a key of type " + name_of(b.type(k)) + " is not JSON")
        return text if is_a(k, b.str) else '"' + text + '"'

    def type_name(kind):
        name = name_of(kind)
        if is_heap_type(kind) and b.isinstance(b.getattr(b, name, None), b.type):
            return name + " (a class of the notebook's own)"
        return name

    def length(x):
        for base in (b.str, b.bytes, b.list, b.tuple, b.dict, b.set, b.frozenset):
            if is_a(x, base):
                return base.__len__(x)
        return b.len(x)

    def evaluate():
        text = expression.strip()
        if text.isidentifier() and text in names:
            return names[text]  # the notebook's global, even if a builtin has the same name
        return b.eval(b.compile(text, "<probe>", "eval"), scope)

    def probe(out):
        value = evaluate()
        out.add('{"type":' + to_json_string(type_name(b.type(value))))
        if want_len:
            out.add(',"len":' + b.int.__repr__(length(value)))
        if want_value:
            out.add(',"value":')
            write_json(value, out)
        out.add("}")
        return out

    def no_value(reason, text):
        out = JSONText()
        out.add('{"' + reason + '":' + to_json_string(text) + "}")
        return out

    try:
        return probe(JSONText())
    except NotJSON as error:
        return no_value("not_json", b.str(error))
    except b.KeyboardInterrupt:
        raise
    except b.BaseException as error:
        return no_value("raised", describe(error))

