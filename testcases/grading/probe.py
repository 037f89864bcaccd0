def __assay_probe__(request):
    """Evaluate expressions among the globals and return what they are as JSON.

    The code that ran here before may have rebound any global name, so nothing
    is taken from the globals: builtins come from their module, and the result
    travels as a repr, for which neither print nor sys.stdout is needed.
    """
    import builtins as b
    import json.decoder
    import json.encoder
    import sys

    scope = b.globals()
    scope.pop("__assay_probe__", None)
    too_deep, too_large = 100, 1 << 20

    class NotJSON(b.Exception):
        pass

    class Answer:
        def __init__(self, text):
            self.text = text

        def __repr__(self):
            return self.text

    def describe(error):
        try:
            text = b.str(error)
        except b.Exception:
            text = "(no message)"
        return b.type(error).__name__ + ": " + text[:1000]

    def plain(x, depth=0):
        if depth > too_deep:
            raise NotJSON("nested deeper than %d levels" % too_deep)
        numpy = sys.modules.get("numpy")
        if numpy is not None and b.isinstance(x, (numpy.generic, numpy.ndarray)):
            x = x.tolist()
        if x is None or b.isinstance(x, b.bool):
            return x
        # A class of the agent's may say of itself what it likes: its base is asked.
        if b.isinstance(x, b.int):
            return b.int.__int__(x)
        if b.isinstance(x, b.float):
            return b.float.__float__(x)
        if b.isinstance(x, b.str):
            return b.str.__str__(x)
        if b.isinstance(x, (b.list, b.tuple)):
            return [plain(item, depth + 1) for item in x]
        if b.isinstance(x, b.dict):
            return {key(k): plain(v, depth + 1) for k, v in x.items()}
        kind = b.type(x)
        hint = "; turn it into lists or an object" if b.hasattr(x, "__iter__") else ""
        raise NotJSON("%s.%s is not JSON%s" % (kind.__module__, kind.__qualname__, hint))

    def key(k):
        k = plain(k)
        if not b.isinstance(k, (b.str, b.int, b.float, b.type(None))):
            raise NotJSON("a dict with a key of type " + b.type(k).__name__ + " is not JSON")
        return k

    def probe(wanted):
        found = {}
        value = b.eval(b.compile(wanted["expr"].strip(), "<probe>", "eval"), scope)
        found["type"] = b.type(value).__name__
        if wanted["len"]:
            found["len"] = b.len(value)
        if wanted["value"]:
            found["value"] = plain(value)
            size = b.len(json.encoder.JSONEncoder().encode(found["value"]))
            if size > too_large:
                found = {}
                raise NotJSON("%d bytes of JSON are more than %d; look at a part" % (size, too_large))
        return found

    def attempt(wanted):
        try:
            return probe(wanted)
        except NotJSON as error:
            return {"not_json": b.str(error)}
        except (b.Exception, b.SystemExit) as error:
            return {"raised": describe(error)}

    probes = json.decoder.JSONDecoder().decode(request)
    return Answer(json.encoder.JSONEncoder().encode([attempt(p) for p in probes]))


