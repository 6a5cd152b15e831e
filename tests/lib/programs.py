# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of many runtimes, each with up to a second's work: what completeness.py judges.

Two tables: COMPILED, and RUNTIMES, those with an interpreter or with code made at run time.
"""

import os
import shlex
import subprocess

import scripts
from paths import BUILD, PROFC, TARGETS
from targets import build, need

CPU_MS = "800"
EACH_OF_TWO_MS = "400"
NO_CFI = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fomit-frame-pointer")


class Program:
    """
    One row. `command(case)` is what to record, in a directory of the test's, or raises a skip.
    Of its CPU time `least` per cent is to be in stacks that begin at a root, or in a function that
    `elsewhere` names, where the runtime's own stacks begin. None: it has stacks of its own, or code
    that keeps no record of its callers, and only the claim is judged.
    `chain` are frames that stand in this order, if with others between them, in each stack that
    begins at a root and has the last of them. `shares` are functions and the parts of the time
    spent below them, wherever its stacks begin.
    """

    def __init__(self, name, least, command, elsewhere="", chain=(), shares=None):
        self.name = name
        self.least = least
        self.command = command
        self.elsewhere = elsewhere
        self.chain = chain
        self.shares = shares or {}


# Ways to a command.


def made(name, *command, sources, more=()):
    """The path of a program that another compiler than targets.py's makes of targets, once."""
    directory = os.path.join(BUILD, "tests", "targets", "of_programs", name)
    program = os.path.join(directory, name)
    paths = [os.path.join(TARGETS, source) for source in sources]
    need(command[0])
    changed = max(map(os.path.getmtime, paths))
    if not os.path.exists(program) or os.path.getmtime(program) < changed:
        os.makedirs(directory, exist_ok=True)
        subprocess.run([*command, "-o", program, *paths, *more], check=True, cwd=directory)
    return program


def calls(name, compiler, *flags):
    def command(_):
        quiet = ["-Wno-unknown-attributes"] if compiler == "clang" else []
        program = made(
            name, compiler, "-D_GNU_SOURCE", "-pthread", *flags, *quiet,
            sources=["calls_of_the_library.c"], more=["-lm"],
        )
        return [program, EACH_OF_TWO_MS]

    return command


def target(name, *flags, more=(), libraries=("-lm",)):
    return lambda case: [build(name, *flags, more=more, libraries=libraries), CPU_MS]


def script(interpreter, name, text, *options):
    def command(case):
        return [need(interpreter), *options, written(case, name, text)]

    return command


def line(text):
    """A command in the words of a shell, but without one; {} is the test's directory."""

    def command(case):
        words = shlex.split(text.replace("{}", case.directory))
        return [need(words[0]), *words[1:]]

    return command


def written(case, name, text):
    path = case.path(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def text_compiled(name, text, *compiler):
    """What a compiler makes of a text, in the test's directory; {} is where it goes."""

    def command(case):
        need(compiler[0])
        program = case.path("program")
        words = [word.replace("{}", program) for word in compiler]
        subprocess.run([*words, written(case, name, text)], check=True, cwd=case.directory)
        return [program]

    return command


# Programs that need more than one line.


def realigned_frames(_):
    flags = ("-O2", "-D_GNU_SOURCE", "-ffunction-sections", "-Wno-unknown-attributes")
    need("ld.lld")
    program = made(
        "realigned_frames", "clang", *flags, *NO_CFI, "-fuse-ld=lld",
        sources=["realigned_frames.c"], more=["-lm"],
    )
    return [program, CPU_MS]


def go(name):
    return lambda _: [made(name, "go", "build", sources=[f"{name}.go"])]


def ada(_):
    return [made("ada_work", "gnatmake", "-q", "-O2", "-g", sources=["ada_work.adb"])]


def fortran(_):
    return [made("fortran_program", "gfortran", "-O2", sources=["fortran_program.f90"])]


def x264(case):
    if not os.path.exists("/usr/include/x264.h"):
        case.skipTest("libx264-dev is not installed")
    return [build("encodes_by_x264", libraries=["-lx264"]), "130"]


def packed(program, *options, lines):
    def command(case):
        text = "".join(f"line {i} of the input {i * i}\n" for i in range(lines))
        return [need(program), *options, "-k", "-f", written(case, "input", text)]

    return command


def compiler_run(program, *options):
    def command(case):
        source = written(case, "unit.cpp", scripts.CPP)
        return [need(program), *options, "-c", source, "-o", case.path("unit.o")]

    return command


def linker(program, times):
    """A linker is done with small inputs in no time: it is run more than once."""

    def command(case):
        need(program)
        source = written(case, "unit.cpp", scripts.CPP)
        unit = case.path("unit.o")
        subprocess.run(["g++", "-g", "-O0", "-fPIC", "-c", source, "-o", unit], check=True)
        once = f'{program} -shared --compress-debug-sections=zlib -o "$1/out" "$1/unit.o"'
        return ["/bin/sh", "-c", f"for i in $(seq {times}); do {once}; done", "sh", case.directory]

    return command


def java(case):
    need("java")
    text_compiled("Work.java", scripts.JAVA, "javac")(case)
    return ["java", "-XX:+UseSerialGC", "-cp", case.directory, "Work"]


def mono(case):
    return [need("mono"), *text_compiled("Work.cs", scripts.CSHARP, "mcs", "-out:{}")(case)]


def redis(case):
    need("redis-server")
    need("redis-cli")
    serve = 'redis-server --port 0 --unixsocket "$1/s" --save "" >/dev/null &'
    wait = 'until redis-cli -s "$1/s" ping >/dev/null 2>&1; do sleep .05; done'
    work = 'redis-cli -s "$1/s" eval "$2" 0; redis-cli -s "$1/s" eval "$2" 0'
    commands = f'{serve} {wait}; {work}; redis-cli -s "$1/s" shutdown; wait'
    return ["/bin/sh", "-c", commands, "sh", case.directory, scripts.REDIS]


def gdb(_):
    return [need("gdb"), "-nx", "-batch", "-readnow", "-ex", "info types xyzzy", PROFC]


def qemu(_):
    program = build("calls_of_the_library", "-O2", "-static", libraries=["-lm"])
    return [need("qemu-x86_64"), program, "300"]


GHC = ("ghc", "-v0", "-O", "-o", "{}")
INTERPRETED = ("main", "run_script", "interpret", "op_work")


def assembler(name, least):
    flags = ("-O2", "-g", "-fno-optimize-sibling-calls")
    program = target("interpreted", *flags, more=(f"{name}.S",))
    return Program(name, least, program, chain=INTERPRETED)


COMPILED = [
    Program("c_by_gcc", 99, calls("c_by_gcc", "gcc", "-O2")),
    Program("c_by_clang", 99, calls("c_by_clang", "clang", "-O2")),
    Program("c_O3", 99, calls("c_O3", "gcc", "-O3", "-fomit-frame-pointer")),
    Program("c_O0", 99, calls("c_O0", "gcc", "-O0")),
    Program("c_without_cfi", 99, calls("c_without_cfi", "gcc", "-O2", *NO_CFI)),
    Program("c_stripped", 99, calls("c_stripped", "gcc", "-O2", "-s")),
    Program("c_static", 99, calls("c_static", "gcc", "-O2", "-static")),
    Program("c_static_pie", 99, calls("c_static_pie", "gcc", "-O2", "-static-pie")),
    Program("musl_dynamic", 99, calls("musl_dynamic", "musl-gcc", "-O2")),
    Program("musl_static", 99, calls("musl_static", "musl-gcc", "-O2", "-static")),
    Program(
        "realigned_frames", 99, realigned_frames,
        chain=("main", "step", "(aligned|sized)_frame", "fold"),
    ),
    # Entered by a table and without CFI or frame pointer: it may end there, but says so.
    assembler("interpreter_zero_rbp", None),
    assembler("interpreter_debug_frame", 99),
    assembler("interpreter_push_loop", 99),
    Program(
        "coroutines", None, target("coroutines"),
        shares={"coroutine_work": 0.75, "main_work": 0.25},
    ),
    Program("altstack_handler", 99, target("altstack_handler"), chain=("main", "handler_work")),
    Program("cpp_exceptions", 99, target("cpp_exceptions")),
    Program("cpp_templates", 99, target("cpp_templates")),
    Program("rust", 99, lambda case: [build("rust_program.rs"), CPU_MS]),
    # Which goroutine a system stack was left for is known from its second sample there on.
    Program(
        "go", 90, go("go_garbage"),
        elsewhere=r"runtime\.(mstart\d?|clone|mcall|morestack)(\.abi0)?",
    ),
    Program(
        "cgo", None, go("cgo_callers"),
        shares={"main.handlerTwo": 2 / 3, "main.handlerOne": 1 / 3},
    ),
    Program("ada", 99, ada),
    Program("fortran", 99, fortran),
    Program("ocaml", 99, text_compiled("work.ml", scripts.OCAML, "ocamlopt", "-o", "{}")),
    Program("haskell", None, text_compiled("work.hs", scripts.HASKELL, *GHC)),
    # A function with 1.1 % of its time, sa8d, aligns its stack and keeps the former pointer in rcx.
    Program("x264", 98, x264),
    Program(
        "ffmpeg", 99,
        line("ffmpeg -v error -f lavfi -i testsrc=d=1.5:s=640x360:r=30 -c:v libx264 {}/out.mp4"),
    ),
    Program("xz", 99, packed("xz", "-T2", lines=40000)),
    Program("zstd", 99, packed("zstd", "-q", "-T2", "-12", lines=250000)),
    Program("bzip2", 99, packed("bzip2", lines=450000)),
    Program("openssl_hash", 99, line("openssl speed -seconds 1 -bytes 1024 sha256")),
    Program("openssl_curve", 99, line("openssl speed -seconds 1 ecdsap384")),
    Program("gcc", 99, compiler_run("g++", "-O1")),
    Program("clang", 99, compiler_run("clang++", "-O1")),
    # Some stacks end outside every mapping, as libunwind finds too: not known why.
    Program("mold", 90, linker("mold", 40)),
    Program("lld", 99, linker("ld.lld", 12)),
    Program("gdb", 99, gdb),
    Program("sqlite", 99, lambda case: [need("sqlite3"), ":memory:", scripts.SQL]),
    Program("redis", 99, redis),
]

RUNTIMES = [
    Program("node_sort", 95, script("node", "sort.js", scripts.NODE_SORT)),
    Program("node_json", 95, script("node", "json.js", scripts.NODE_JSON)),
    Program("node_regex", 95, script("node", "regex.js", scripts.NODE_REGEX)),
    Program("node_async", 95, script("node", "async.js", scripts.NODE_ASYNC)),
    Program("node_workers", 95, script("node", "workers.js", scripts.NODE_WORKERS)),
    Program("node_crypto", 95, script("node", "crypto.js", scripts.NODE_CRYPTO)),
    # Not the one first in PATH: a distribution's is stripped, and built otherwise.
    Program("python", 99, script("/usr/bin/python3", "work.py", scripts.PYTHON)),
    Program("perl", 99, script("perl", "work.pl", scripts.PERL)),
    Program("ruby", 99, script("ruby", "work.rb", scripts.RUBY)),
    Program("ruby_fibers", None, script("ruby", "fibers.rb", scripts.RUBY_FIBERS)),
    Program("lua", 99, script("lua5.4", "work.lua", scripts.LUA.replace("ROUNDS", "34"))),
    Program("luajit", 95, script("luajit", "work.lua", scripts.LUA.replace("ROUNDS", "75"))),
    Program("erlang", None, lambda case: [need("erl"), "-noshell", "-eval", scripts.ERLANG]),
    Program("guile", None, script("guile", "work.scm", scripts.GUILE, "--no-auto-compile")),
    Program("sbcl", 90, script("sbcl", "work.lisp", scripts.LISP, "--script")),
    Program("php", 99, script("php", "work.php", scripts.PHP)),
    Program("php_fibers", None, script("php", "fibers.php", scripts.PHP_FIBERS)),
    Program("java", 95, java),
    Program("mono", None, mono),
    Program("R", 99, script("Rscript", "work.R", scripts.R_SCRIPT)),
    Program("tcl", 99, script("tclsh", "work.tcl", scripts.TCL)),
    Program("gawk", 99, script("gawk", "work.awk", scripts.AWK, "-f")),
    Program("bash", 99, script("bash", "work.bash", scripts.BASH)),
    Program("qemu", None, qemu),
]
