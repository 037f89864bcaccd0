"""The text of values, which is the same as IPython's."""

import random
import subprocess
import sys

from harness import IMPORT_ROOT, KernelTest, skip_unless_installed

VALUES_CODE = '''
import collections, datetime, decimal, enum, functools, os, re, types
class A: pass
class B(list): pass
class Own:
    def __repr__(self): return 'own\\\\nrepr'
class Meta(type):
    def __repr__(self): return 'meta!'
class M(metaclass=Meta): pass
class Pretty:
    def _repr_pretty_(self, p, cycle):
        with p.group(2, 'P<', '>'):
            p.text('a,')
            p.breakable()
            p.pretty(['x' * 40, 'y' * 40])
E = enum.Enum('E', 'a b')
Point = collections.namedtuple('Point', 'x y')
loop = [1]
loop.append(loop)
knot = {}
knot['k'] = (knot, collections.defaultdict(list, {1: [knot]}))
def f(a, *, b: int = 3) -> str: pass
values = [
    1, 2.5, 1j, True, None, Ellipsis, 'x' * 200, 'a\\\\nb', b'ab', A, int, collections.OrderedDict, A.__init__,
    [], (), {}, set(), frozenset(), [1], (1,), {1}, frozenset({2}), {'a': 1},
    list(range(30)), tuple(range(60)), set(range(50)), {i: str(i) * 9 for i in range(12)},
    list(range(1500)), {i: i for i in range(1500)}, {3, 'a', (1,)}, {'b', 'a', 'c'},
    [[i] * 12 for i in range(9)], {'k': {'l': {'m': list(range(40))}}}, [{'a': 'x' * 50}, {'b': 'y' * 50}],
    collections.deque([1, 2], maxlen=5), collections.Counter('mississippi'), collections.UserList([1]),
    collections.OrderedDict([(i, 'x' * 30) for i in range(4)]), collections.defaultdict(int, a=1),
    types.SimpleNamespace(a=1, b='y' * 80), types.MappingProxyType({'a': 1}), re.compile(r'\\\\d+\\\\\\\\', re.I),
    re.compile(b'x'), ValueError('x', 3), KeyError(), decimal.Decimal('1.5'), datetime.date(2020, 1, 2),
    E, E.a, Point(1, 2), M, [M], B([1, 2]), Own(), [Own(), Own()], Pretty(), [Pretty()], loop, knot,
    f, len, str.join, [].append, functools.partial(f, 1), super(B, B()), range(3), slice(1, 2), os.environ,
    [f, len, A, E.b, Point(1, 'x' * 80)], (x for x in []).__class__, Exception, [ValueError('x' * 80)],
]
'''
COMPARE_CODE = '''
import random
from IPython.lib.pretty import pretty as expected
from assay.display.pretty import pretty
def shown(value): return pretty(value, 1 << 20)
for value in values:
    assert shown(value) == expected(value), shown(value) + ' is not ' + expected(value)
leaves = [value for value in values if len(expected(value)) < 200 and '\\\\n' not in expected(value)]
rng = random.Random(SEED)
def make(depth):
    if not depth or rng.random() < 0.3: return rng.choice(leaves)
    items = [make(depth - 1) for _ in range(rng.choice((0, 1, 2, 5, 12)))]
    return rng.choice((list, tuple, B, lambda i: dict(enumerate(i)), collections.deque,
        lambda i: collections.OrderedDict((str(n), v) for n, v in enumerate(i)))) (items)
for _ in range(400):
    value = make(rng.randrange(5))
    assert shown(value) == expected(value), shown(value) + ' is not ' + expected(value)
'''


class TestPretty(KernelTest):
    @skip_unless_installed("IPython")
    def test_pk4_values_are_shown_as_ipython_shows_them(self):
        seed = random.randrange(1 << 30)
        code = (VALUES_CODE + COMPARE_CODE).replace("\\\\", "\\").replace("SEED", str(seed))
        code = f"import sys\nsys.path.insert(0, {IMPORT_ROOT!r})\n" + code
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_pk4_values_are_shown_the_same_without_ipython(self):
        for code, shown in (
            ("int", "int"),
            ("class A: pass\nA", "__main__.A"),
            ("list(range(30))", "[" + ",\n ".join(map(str, range(30))) + "]"),
            ("{'b', 'a'}", "{'a', 'b'}"),
            ("def f(x): pass\nf", "<function __main__.f(x)>"),
            ("[[]] * 2", "[[], []]"),
        ):
            with self.subTest(code=code):
                self.assertEqual(self.run_ok(code).shown_text, shown)

    def test_pk3_a_large_value_is_shown_in_part(self):
        self.assertTrue(self.run_ok("[0] * 10_000_000").shown_text.endswith(" 0,\n ...]"))
        self.assertLess(len(self.run_ok("[[['x' * 1000] * 1000] * 1000] * 1000").shown_text), 1_100_000)

    def test_pk3_a_deep_value_is_shown(self):
        self.assertTrue(self.run_ok("x = []\nfor _ in range(100000): x = [x]\nx").shown_text)

    def test_pk3_values_whose_repr_raises_are_shown_in_their_place(self):
        run = self.run_ok("class A:\n    def __repr__(self): raise ValueError('no')\n[1, A()]")
        self.assertEqual(run.shown_text, "[1, <A: its repr raised ValueError: no>]")
        run = self.run_ok("class A:\n    def _repr_pretty_(self, p, cycle): 1 / 0\n    def __repr__(self): return 'a'\n[A()]")
        self.assertEqual(run.shown_text, "[a]")

    def test_pk7_values_that_never_end_can_be_stopped(self):
        for code in (
            "class A:\n    def __lt__(self, other):\n        print('begun')\n        while True: pass\n{A(), A()}",
            "class A:\n    def __repr__(self):\n        print('begun')\n        while True: pass\n[A()]",
            "class A(dict):\n    def items(self):\n        print('begun')\n        while True: pass\nprint('begun')\nA()\nwhile True: pass",
        ):
            with self.subTest(code=code):
                self.kernel.run_until_begun(code)
                self.assertEqual(self.kernel.stop_cell().result["status"], "interrupted")


