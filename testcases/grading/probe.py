def __assay_probe__(expression, want_len, want_value):
    """Evaluate an expression among the globals; the repr of what is returned is JSON.

    The code that ran here before may have rebound any global name, so builtins
    come from their module. Its classes may say of themselves what they like, so
    bases that are not made by code are asked instead. Nothing else is imported.
    """
    import builtins as b

    names = b.globals()
    names.pop("__assay_probe__", None)
    # A kernel that has kept the builtins of its start gives them to this code,
    # and the globals behind them. Any other evaluates among the globals.
    given = __builtins__
    layered = b.type(given) not in (b.dict, b.type(b))
    scope = {"__name__": "__main__", "__builtins__": given} if layered else names
    too_deep, too_large = 100, 1_000_000

    class NotJSON(b.Exception):
        pass

    class Finding:
        def __init__(self):
            self.pieces = []
            self.size = 0

        def add(self, piece):
            self.size += b.len(piece)
            if self.size > too_large:
                raise NotJSON("more than %d bytes of JSON; look at a part" % too_large)
            self.pieces.append(piece)

        def __repr__(self):
            return "".join(self.pieces)

    mro = b.type.__dict__["__mro__"].__get__
    name_of = b.type.__dict__["__name__"].__get__
    module_of = b.type.__dict__["__module__"].__get__
    flags_of = b.type.__dict__["__flags__"].__get__

    def made_by_code(kind):
        return b.bool(flags_of(kind) & 1 << 9)

    def is_a(x, *kinds):
        return b.any(base in kinds for base in mro(b.type(x)))

    def describe(error):
        try:
            text = b.str(error)
        except b.Exception:
            text = "(no message)"
        return name_of(b.type(error)) + ": " + b.str.__str__(text)[:1000]

    def quoted(text):
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

    def number(x):
        text = b.float.__repr__(x)
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)

    def scalar(x):
        if x is None or x is True or x is False:
            return {None: "null", True: "true", False: "false"}[x]
        if is_a(x, b.int):
            return b.int.__repr__(b.int.__int__(x))
        if is_a(x, b.float):
            return number(b.float.__float__(x))
        if is_a(x, b.str):
            if b.str.__len__(x) > too_large:
                raise NotJSON("more than %d bytes of JSON; look at a part" % too_large)
            return quoted(x)
        return None

    def from_numpy(x):
        for base in mro(b.type(x)):
            if module_of(base) == "numpy" and name_of(base) in ("generic", "ndarray") and not made_by_code(base):
                return b.type.__getattribute__(base, "tolist")(x)
        return x

    def write(x, out, depth=0):
        if depth > too_deep:
            raise NotJSON("nested deeper than %d levels" % too_deep)
        x = from_numpy(x)
        text = scalar(x)
        if text is not None:
            out.add(text)
        elif is_a(x, b.list, b.tuple):
            items = b.list.__iter__(x) if is_a(x, b.list) else b.tuple.__iter__(x)
            out.add("[")
            for i, item in b.enumerate(items):
                out.add("," if i else "")
                write(item, out, depth + 1)
            out.add("]")
        elif is_a(x, b.dict):
            out.add("{")
            for i, item in b.enumerate(b.dict.items(x)):
                out.add(("," if i else "") + key(item[0]) + ":")
                write(item[1], out, depth + 1)
            out.add("}")
        else:
            kind = b.type(x)
            iterable = b.any("__iter__" in base.__dict__ for base in mro(kind))
            hint = "; turn it into lists or an object" if iterable else ""
            raise NotJSON("%s.%s is not JSON%s" % (module_of(kind), name_of(kind), hint))

    def key(k):
        k = from_numpy(k)
        text = scalar(k)
        if text is None:
            raise NotJSON("a dict with a key of type " + name_of(b.type(k)) + " is not JSON")
        return text if is_a(k, b.str) else '"' + text + '"'

    def type_name(kind):
        name = name_of(kind)
        if made_by_code(kind) and b.isinstance(b.getattr(b, name, None), b.type):
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
            return names[text]  # it is asked for, even where a builtin has that name
        return b.eval(b.compile(text, "<probe>", "eval"), scope)

    def probe(out):
        value = evaluate()
        out.add('{"type":' + quoted(type_name(b.type(value))))
        if want_len:
            out.add(',"len":' + b.int.__repr__(length(value)))
        if want_value:
            out.add(',"value":')
            write(value, out)
        out.add("}")
        return out

    def instead(why, text):
        out = Finding()
        out.add('{"' + why + '":' + quoted(text) + "}")
        return out

    try:
        return probe(Finding())
    except NotJSON as error:
        return instead("not_json", b.str(error))
    except b.KeyboardInterrupt:
        raise
    except b.BaseException as error:
        return instead("raised", describe(error))

