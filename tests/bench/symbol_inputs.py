# SPDX-License-Identifier: GPL-2.0-or-later
"""
Programs with as much debug information as wanted, generated and kept.

One unit of units/symbol.{h,cpp,rs} is compiled once, and copies of it are linked
whole under other names, so that each is a compilation unit of its own.
"""

import os
import shutil
import subprocess
import sys
import tempfile

import symbolizers
from paths import BUILD

UNITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "units")
MODULES_OF_C = 250


def run(*argv):
    subprocess.run(list(map(str, argv)), check=True)


def write_text(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def compile_c(scratch, output):
    headers = "ctype stdio stdlib string pthread signal netdb sys/socket sys/stat sys/mman"
    text = "".join(f"#include <{name}.h>\n" for name in headers.split())
    numbers = range(1, MODULES_OF_C + 1)
    for number in numbers:
        text += f'#define N {number}\n#include "symbol.h"\n#undef N\n'
    calls = "".join(f"\tsum += module_run_{number}(rounds);\n" for number in numbers)
    text += f"int unit_run(int rounds)\n{{\n\tint sum = 0;\n\n{calls}\treturn sum;\n}}\n"
    source = write_text(os.path.join(scratch, "symbol.c"), text)
    run("gcc", "-O2", "-g", "-I", UNITS, "-c", "-o", output, source)


def compile_cpp(_, output):
    source = os.path.join(UNITS, "symbol.cpp")
    run("g++", "-std=c++17", "-O2", "-g", "-fno-gnu-unique", "-c", "-o", output, source)


def compile_rust(_, output):
    source = os.path.join(UNITS, "symbol.rs")
    flags = ["-O", "-g", "--edition=2021", "-C", "codegen-units=1", "-C", "panic=abort"]
    run("rustc", *flags, "--crate-type=lib", f"--emit=obj={output}", source)


def link_c(names, objects, scratch, output):
    text = "".join(f"int {name}(int);\n" for name in names)
    calls = "".join(f" + {name}(argc)" for name in names)
    text += f"int main(int argc, char **argv)\n{{\n\treturn !argv{calls};\n}}\n"
    main = write_text(os.path.join(scratch, "main.c"), text)
    run("gcc", "-g", "-c", "-o", main + ".o", main)
    run("g++", "-pthread", "-o", output, main + ".o", *objects)


def link_rust(names, objects, scratch, output):
    text = "".join(f"    fn {name}(rounds: i32) -> i32;\n" for name in names)
    calls = "".join(f"        sum += {name}(sum);\n" for name in names)
    main = write_text(
        os.path.join(scratch, "main.rs"),
        f'extern "C" {{\n{text}}}\n\nfn main() {{\n    let mut sum = 1;\n\n'
        f"    unsafe {{\n{calls}    }}\n    std::process::exit(sum & 1);\n}}\n",
    )
    run("ar", "rcs", os.path.join(scratch, "libunits.a"), *objects)
    whole = ["-L", scratch, "-l", "static:+whole-archive,-bundle=units"]
    run("rustc", "-O", "-g", "-C", "panic=abort", *whole, "-o", output, main)


LANGUAGES = {
    "c": ("gcc", compile_c, link_c),
    "c++": ("g++", compile_cpp, link_c),
    "rust": ("rustc", compile_rust, link_rust),
}


def place_of(path, name):
    """The section of a symbol of an object file, and where in it."""
    for line in symbolizers.run(["objdump", "-t", path]).splitlines():
        words = line.split()
        if words and words[-1] == name and words[-3] != "*UND*":
            return words[-3], int(words[0], 16)
    raise AssertionError(f"no symbol {name} in {path}")


def copy_units(scratch, compile_unit, mib):
    """([name of each copy's only global function], [object file])"""
    one, whole = os.path.join(scratch, "one.o"), os.path.join(scratch, "whole.o")
    compile_unit(scratch, one)
    # Without groups the linker cannot take the copies for duplicates of one another.
    run("ld", "-r", "--force-group-allocation", "-o", whole, one)
    nr = (mib << 20) // symbolizers.section_bytes(one, ".debug_info") + 1
    names = [f"unit_run_{number}" for number in range(nr)]
    objects = [os.path.join(scratch, name + ".o") for name in names]
    section, value = place_of(whole, "unit_run")
    for name, path in zip(names, objects):
        # A second name, as the first is what the debug information says.
        second = f"--add-symbol={name}={section}:{value:#x},global,function"
        run("objcopy", second, f"--keep-global-symbol={name}", whole, path)
    return names, objects


def generate(language, mib):
    """Path of a program with so much .debug_info, or None when its compiler is missing."""
    compiler, compile_unit, link = LANGUAGES[language]
    program = os.path.join(BUILD, "tests", "bench", f"symbol-{language}-{mib}")
    if os.path.exists(program):
        return program
    if not shutil.which(compiler):
        return None
    os.makedirs(os.path.dirname(program), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(program)) as scratch:
        print(f"# generating {os.path.basename(program)}", file=sys.stderr, flush=True)
        names, objects = copy_units(scratch, compile_unit, mib)
        link(names, objects, scratch, os.path.join(scratch, "program"))
        os.replace(os.path.join(scratch, "program"), program)
    return program
