# SPDX-License-Identifier: GPL-2.0-or-later
"""
Programs of Python that run for ever, each with another way from one function to the next. Those
that need a module that is not everywhere name it in NEEDS.
"""

PLAIN = """
class Work:
    def inner(self, n):
        t = 0
        for i in range(n):
            t += i * i % 7
        return t
    def outer(self):
        return sum(self.inner(k) for k in range(50, 90))
def main():
    work = Work()
    while True:
        work.outer()
main()
"""

JSON = """
import json
doc = {"k%d" % i: [i, i * 1.5, {"x": "y" * 10}] for i in range(200)}
class Encoder(json.JSONEncoder):
    def default(self, o):
        return str(o)
def dumps():
    return json.dumps(doc, cls=Encoder, default=lambda o: str(o))
def dump_objects():
    return json.dumps([object() for _ in range(50)], default=lambda o: len([c for c in "abc"]))
def loads(s):
    return json.loads(s, object_hook=lambda d: dict(sorted(d.items(), key=lambda kv: kv[0])))
while True:
    loads(dumps()); dump_objects()
"""

SQLITE = """
import re, sqlite3
db = sqlite3.connect(":memory:")
def weigh(x):
    s = 0
    for i in range(20): s += (x * i) % 3
    return s
db.create_function("weigh", 1, weigh)
db.execute("create table t(a)")
db.executemany("insert into t values(?)", ((i,) for i in range(500)))
def up(m):
    return m.group(0).upper() + str(sum(range(10)))
while True:
    db.execute("select sum(weigh(a)) from t where a % 2").fetchall()
    re.sub(r"[a-m]+", up, "hello world abc nnn def " * 20)
    sorted(range(200), key=lambda v: -v)
"""

GENERATORS = """
def leaf(n):
    for i in range(n):
        yield i * i
def mid(n):
    yield from leaf(n)
    yield sum(leaf(n // 2))
def top(n):
    for x in mid(n):
        yield x + 1
def rec(t, d=0):
    if d == 12:
        yield t
        return
    for x in rec(t, d + 1):
        yield x
    yield from rec(t + 1, d + 6) if d < 7 else ()
while True:
    list(top(100)); sum(rec(1)); max(x for x in (y for y in top(30)))
"""

ASYNCIO = """
import asyncio
async def work(n):
    t = 0
    for i in range(n):
        t += i % 3
    await asyncio.sleep(0)
    return await deeper(t)
async def deeper(t):
    async for x in numbers(20):
        t += x
    return t
async def numbers(n):
    for i in range(n):
        yield i
        if i % 7 == 0: await asyncio.sleep(0)
async def main():
    while True:
        await asyncio.gather(*(work(400) for _ in range(10)))
asyncio.run(main())
"""

EXCEPTIONS = """
import contextlib
class Thrown(Exception):
    def __init__(self, x):
        super().__init__(x)
        self.x = [i for i in range(x % 5)]
def throw(d):
    if d: return throw(d - 1)
    raise Thrown(d)
@contextlib.contextmanager
def context():
    try:
        yield
    finally:
        sum(range(30))
def catch(d):
    try:
        with context():
            throw(d)
    except Thrown as e:
        try:
            {}["x"]
        except KeyError as k:
            return repr(k) + repr(e)
    finally:
        len("x")
while True:
    for d in range(20): catch(d)
"""

CLASSES = """
import functools
def deco(f):
    @functools.wraps(f)
    def wrapper(*a, **k):
        return f(*a, **k)
    return wrapper
def make():
    class Meta(type):
        def __new__(m, n, b, d):
            return super().__new__(m, n, b, d)
    class C(metaclass=Meta):
        values = [i * i for i in range(30)]
        def __init__(self): self.v = [x for x in self.values]
        def __lt__(self, o): return self.v < o.v
        def __eq__(self, o): return sum(self.v) == sum(o.v)
        def __getattr__(self, n): return n * 2
        @property
        def p(self): return sum(self.v)
        @deco
        def m(self, k): return [self.p for _ in range(k)]
        def __call__(self, *a): return functools.reduce(lambda x, y: x + y, self.v)
    a, b = C(), C()
    sorted([a, b]); a == b; a.zzz; a.m(5); a()
    exec(compile("def tmp(n):\\n  s=0\\n  for i in range(n): s+=i\\n  return s\\ntmp(200)",
                 "<made up>", "exec"), {})
    list(map(lambda q: q + 1, range(20))); list(filter(lambda q: q % 2, range(20)))
while True: make()
"""

THREADS = """
import hashlib, queue, threading, time
q = queue.Queue(5)
def burn():
    while True:
        s = 0
        for i in range(1000): s += i
def produce():
    while True: q.put(hashlib.sha256(b"x" * 100000).digest())
def consume():
    while True: q.get()
def sleep():
    while True: time.sleep(0.01)
for f in (burn, burn, produce, consume, sleep): threading.Thread(target=f, daemon=True).start()
burn()
"""

NUMPY = """
import numpy as np
a = np.random.rand(200, 200)
f = np.vectorize(lambda x: x * x + 1)
def dot(): return a.dot(a)
def apply():
    return np.apply_along_axis(lambda r: r.sum() + len([1 for _ in range(5)]), 0, a[:50, :50])
def take(): return np.fromiter((i * 2 for i in range(300)), int)
while True:
    dot(); f(a[:20, :20]); apply(); take()
"""

DEEP = """
import sys
sys.setrecursionlimit(5000)
def down(n):
    if n == 0:
        s = 0
        for i in range(3000): s += i
        return s
    return down(n - 1)
def via_c(n):
    if n == 0: return down(300)
    return max(map(via_c, [n - 1]))
class Del:
    def __del__(self): sum(i for i in range(50))
def größe(): return [Del() for _ in range(20)]
while True:
    down(900); via_c(60); größe()
"""

DESTRUCTORS = """
class Del:
    def __del__(self): sum(i for i in range(200))
def gen():
    d = Del()
    yield 1
    e = Del()
async def co():
    d = Del()
    return 2
def run(c):
    try: c.send(None)
    except StopIteration: pass
while True:
    list(gen()); run(co())
    g = gen(); next(g); g.close(); del g
"""

DESCRIPTORS = """
class Field:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, o, owner=None):
        return self if o is None else sum(range(10)) + o.__dict__[self.name]
    def __set__(self, o, v): o.__dict__[self.name] = v + len([i for i in range(5)])
class Point:
    x, y = Field(), Field()
    def __init__(self, x, y): self.x, self.y = x, y
    def __add__(self, o): return Point(self.x + o.x, self.y + o.y)
    def __radd__(self, o): return self + Point(o, o)
    def __iter__(self):
        yield self.x
        yield self.y
    def __getitem__(self, k): return (self.x, self.y)[k]
    def __contains__(self, k): return any(k == x for x in self)
    def __hash__(self): return hash(tuple(self))
    def __eq__(self, o): return tuple(self) == tuple(o)
    def __bool__(self): return self.x > self.y
    def __format__(self, spec): return ",".join(map(str, self))
while True:
    p = sum((Point(i, i + 1) for i in range(10)), 0)
    {p: 1}.get(Point(*p)); 3 in p; bool(p); f"{p}"; sorted([p, p], key=lambda q: q[0])
"""

DATA_CLASSES = """
import collections, dataclasses, enum
class Color(enum.Enum):
    RED, GREEN = 1, 2
    @classmethod
    def _missing_(cls, value): return cls.RED if sum(range(20)) else None
@dataclasses.dataclass(order=True)
class Item:
    weight: int
    name: str = dataclasses.field(default_factory=lambda: "".join(chr(97 + i) for i in range(5)))
    def __post_init__(self): self.total = self.weight * 2
class Counted(collections.UserDict):
    def __missing__(self, key): return self.data.setdefault(key, [x for x in range(key % 7)])
class Order(collections.OrderedDict):
    def __setitem__(self, key, value): super().__setitem__(key, value + 1)
while True:
    items = sorted(Item(i * 7 % 11) for i in range(30)); [dataclasses.asdict(i) for i in items[:5]]
    Color(5); c = Counted(); [c[i] for i in range(20)]; o = Order()
    for i in range(20): o[i] = i
    dataclasses.replace(items[0], weight=3)
"""

FUNCTOOLS = """
import functools, itertools, operator
@functools.lru_cache(maxsize=8)
def cached(n): return cached(n - 1) + 1 if n else 0
@functools.singledispatch
def kind(x): return "other"
@kind.register
def _(x: int): return sum(range(x % 20))
@kind.register
def _(x: str): return [c for c in x]
def key(pair): return pair[0] % 3
def walk(xs):
    for k, group in itertools.groupby(sorted(xs, key=key), key): yield k, list(group)
compare = functools.cmp_to_key(lambda a, b: (a > b) - (a < b))
add = functools.partial(functools.reduce, lambda a, b: a + b)
while True:
    cached(30); kind(17); kind("hello"); kind(1.5); list(walk([(i, i) for i in range(30)]))
    sorted(range(40), key=compare); add(range(50))
    list(itertools.starmap(lambda a, b: a * b, zip(range(20), range(20))))
    list(itertools.takewhile(lambda x: x < 15, itertools.accumulate(range(9), operator.add)))
"""

PICKLE = """
import copy, csv, io, pickle
class Node:
    def __init__(self, depth): self.kids = [Node(depth - 1) for _ in range(2)] if depth else []
    def __reduce__(self): return rebuild, (len(self.kids), list(self.kids))
    def __deepcopy__(self, memo): return Node(1)
def rebuild(n, kids):
    node = Node(0)
    node.kids = [k for k in kids]
    return node
class Source(io.RawIOBase):
    def __init__(self, bytes): self.bytes = bytes
    def readable(self): return True
    def readinto(self, b):
        n = min(len(b), len(self.bytes), 16)
        b[:n], self.bytes = self.bytes[:n], self.bytes[n:]
        return n
class Writer:
    def write(self, text): return len([c for c in text])
while True:
    pickle.loads(pickle.dumps(Node(5))); copy.deepcopy([Node(2)])
    list(csv.reader(line.upper() for line in ["a,b,c"] * 20))
    csv.writer(Writer()).writerows([i, i + 1] for i in range(20))
    io.TextIOWrapper(io.BufferedReader(Source(b"one\\ntwo\\n" * 10))).read()
"""

WEAK = """
import gc, weakref
seen = []
def gone(ref): seen.append(len([i for i in range(20)]))
class Node:
    def __init__(self): self.me, self.weak = self, weakref.ref(self, gone)
    def __del__(self): sum(i for i in range(10))
def collected(phase, info): seen[:] = [x for x in seen[-5:]]
gc.callbacks.append(collected)
class Cache(weakref.WeakValueDictionary):
    def put(self, key): self[key] = value = Node(); return value
cache = Cache()
while True:
    for i in range(20): weakref.finalize(cache.put(i), gone, None)
    gc.collect()
"""

CTYPES = """
import ctypes
libc = ctypes.CDLL(None)
KIND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
def compare(a, b): return inner(a[0], b[0])
def inner(x, y):
    s = 0
    for i in range(10): s += i
    return (x > y) - (x < y)
function = KIND(compare)
def sort(n):
    array = (ctypes.c_int * n)(*((i * 7919) % 101 for i in range(n)))
    libc.qsort(array, n, ctypes.sizeof(ctypes.c_int), function)
    return list(array)
def nested(n): return sort(20) if n == 0 else max(map(nested, [n - 1]))
while True:
    sort(50); nested(5)
"""

CANCELLED = """
import asyncio, contextlib, contextvars
name = contextvars.ContextVar("name")
@contextlib.asynccontextmanager
async def lasting():
    token = name.set(1)
    try:
        yield [i for i in range(10)]
    finally:
        await asyncio.sleep(0)
        name.reset(token)
class Awaited:
    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        return sum(i for i in range(30))
async def wait():
    try:
        async with lasting() as xs:
            await Awaited(); await asyncio.sleep(10)
    except asyncio.CancelledError:
        sum(range(50)); raise
async def main():
    while True:
        tasks = [asyncio.ensure_future(wait()) for _ in range(10)]
        for _ in range(4): await asyncio.sleep(0)
        for t in tasks: t.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        contextvars.copy_context().run(lambda: [name.get(0) for _ in range(9)])
asyncio.run(main())
"""

PROFILED = """
import sys, threading
counts = {}
def profile(frame, event, argument):
    counts[event] = counts.get(event, 0) + len([1 for _ in range(3)])
def trace(frame, event, argument):
    counts[frame.f_lineno] = 1
    return trace
def work(n): return [inner(i) for i in range(n)]
def inner(n): return sum(x for x in range(n % 13))
while True:
    sys.setprofile(profile); work(30); sys.setprofile(None)
    sys.settrace(trace); work(5); sys.settrace(None)
    work(30)
"""

IMPORTED = """
import importlib.abc, importlib.util, sys
class Made(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if not name.startswith("made_"): return None
        return importlib.util.spec_from_loader(name, self)
    def create_module(self, spec): return None
    def exec_module(self, module): exec(code_of(module.__name__), module.__dict__)
def code_of(name): return compile(TEXT, f"<{name}>", "exec")
TEXT = '''
def first(n): return [second(i) for i in range(n)]
def second(n): return sum(range(n % 20))
X = first(20)
class K:
    v = first(10)
'''
sys.meta_path.insert(0, Made())
n = 0
while True:
    name = f"made_{n % 50}"; n += 1
    __import__(name); sys.modules.pop(name)
    eval("[x * 2 for x in range(30)]"); exec("y = sum(i for i in range(30))", {})
"""

EXPAT = """
import xml.etree.ElementTree as tree, xml.sax, xml.parsers.expat as expat
TEXT = "<a>" + "<b c='1'>text<d/></b>" * 30 + "</a>"
class Handler(xml.sax.ContentHandler):
    def startElement(self, name, attributes): self.n = len([x for x in attributes.keys()])
    def characters(self, text): sum(range(len(text)))
class Target:
    def start(self, tag, attributes): [i for i in range(5)]
    def end(self, tag): pass
    def close(self): return 1
def begin(name, attributes): return sum(i for i in range(10))
while True:
    xml.sax.parseString(TEXT, Handler())
    tree.XMLParser(target=Target()).feed(TEXT)
    parser = expat.ParserCreate(); parser.StartElementHandler = begin; parser.Parse(TEXT, True)
    [e.tag for e in tree.fromstring(TEXT).iter("d")]
"""

HEAPS = """
import bisect, decimal, fractions, heapq, statistics, string
class Job:
    def __init__(self, n): self.n = n
    def __lt__(self, o): return key(self) < key(o)
def key(job): return job.n * 7919 % 101
class Template(string.Template):
    def __repr__(self): return self.substitute(x="".join(str(i) for i in range(5)))
while True:
    heap = []
    for i in range(40): heapq.heappush(heap, Job(i))
    while heap: heapq.heappop(heap)
    jobs = sorted(Job(i) for i in range(30)); bisect.bisect(jobs, Job(5))
    sum((fractions.Fraction(1, i) for i in range(1, 20)), fractions.Fraction())
    statistics.pstdev([decimal.Decimal(i) for i in range(20)]); repr([Template("$x and $x")] * 3)
"""

FUTURES = """
import concurrent.futures, threading
condition, turn = threading.Condition(), [0]
def work(n):
    with condition:
        condition.wait_for(lambda: turn[0] % 2 == n % 2, timeout=0.001)
        turn[0] += 1
        condition.notify_all()
    return sum(i for i in range(n * 20))
local = threading.local()
def begin(): local.x = [i for i in range(10)]
with concurrent.futures.ThreadPoolExecutor(4, initializer=begin) as pool:
    while True:
        jobs = [pool.submit(work, i) for i in range(12)]
        jobs[0].add_done_callback(lambda f: [x for x in range(20)])
        [f.result() for f in concurrent.futures.as_completed(jobs)]
        list(pool.map(work, range(8)))
"""

THROWN = """
def inner():
    while True:
        try:
            yield sum(i for i in range(20))
        except ValueError:
            [i for i in range(10)]
def outer(): yield from inner()
def topmost():
    try:
        yield from outer()
    finally:
        sum(range(20))
async def awaited():
    try:
        await Waits()
    except KeyError:
        return [i for i in range(10)]
class Waits:
    def __await__(self): return (yield 1)
while True:
    g = topmost(); next(g)
    for _ in range(5): g.throw(ValueError()); g.send(None)
    g.close()
    c = awaited(); c.send(None)
    try: c.throw(KeyError())
    except StopIteration: pass
"""

TIMERS = """
import signal
def handler(number, frame): return sum(deeper(i) for i in range(20))
def deeper(n): return len([i for i in range(n)])
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
def work(n): return n if n < 2 else work(n - 1) + work(n - 2)
while True:
    work(12); sorted(range(100), key=lambda x: -x)
"""

PROGRAMS = {
    "plain": PLAIN, "json": JSON, "sqlite": SQLITE, "generators": GENERATORS, "asyncio": ASYNCIO,
    "exceptions": EXCEPTIONS, "classes": CLASSES, "threads": THREADS, "numpy": NUMPY, "deep": DEEP,
    "destructors": DESTRUCTORS, "descriptors": DESCRIPTORS, "data classes": DATA_CLASSES,
    "functools": FUNCTOOLS, "pickle": PICKLE, "weak references": WEAK, "ctypes": CTYPES,
    "cancelled": CANCELLED, "profiled": PROFILED, "imported": IMPORTED, "expat": EXPAT,
    "heaps": HEAPS, "futures": FUTURES, "thrown": THROWN, "timers": TIMERS,
}
NEEDS = {"numpy": "numpy", "sqlite": "sqlite3", "ctypes": "ctypes", "expat": "pyexpat"}
