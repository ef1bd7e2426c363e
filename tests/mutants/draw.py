"""Draws small faults (mutants) in source/ and include/ at random, and finds out which tests fail.

    draw.py N SEED [--from K] [--quick]

tests/mutants.sh --random calls it. It uses Clang's Python bindings to find the places. If a mutant
does not compile, or if its file gives the same object code, another one is drawn.

Most mutants are built together: each place asks at run time whether its mutant is the one that
WEFT_MUTANT names. The others, such as those in constant expressions, are counted but not tried.
With --quick only mutants that can be switched are drawn. The steps are tried in this order until one fails: the
tests of the file, the models, the models with --weak, the tests of the layer, all tests.
"""
import argparse
import collections
import csv
import itertools
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import time

import clang.cindex as clang
from clang.cindex import CursorKind as Kind

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutants" / "random"
TREE = WORK / "tree"
FLAGS = ["-std=c++17", "-Iinclude", "-Isource", "-Itests"]
OTHER_SYSTEMS = re.compile(r"_(windows|emscripten|pthread)\.|/saved_registers|race_finder")
SCHEDULES = 60  # of each model
SECONDS = 300  # of a rung: a program that takes longer has failed

COMPARISONS = {"<": ["<=", ">"], "<=": ["<", ">="], ">": [">=", "<"], ">=": [">", "<="],
               "==": ["!="], "!=": ["=="]}
ORDERS = {"kSeqCst": "kRelaxed", "kAcqRel": "kRelaxed", "kAcquire": "kRelaxed", "kRelease": "kRelaxed",
          "memory_order_acquire": "memory_order_relaxed", "memory_order_release": "memory_order_relaxed",
          "memory_order_acq_rel": "memory_order_relaxed", "memory_order_seq_cst": "memory_order_relaxed"}
WAKES = {"Published", "PublishedOwn", "WakePlain"}
STATEMENTS = {Kind.CALL_EXPR, Kind.BINARY_OPERATOR, Kind.COMPOUND_ASSIGNMENT_OPERATOR, Kind.UNARY_OPERATOR}
FUNCTIONS = {Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.CONSTRUCTOR, Kind.DESTRUCTOR, Kind.FUNCTION_TEMPLATE,
             Kind.LAMBDA_EXPR}

# A change of the text [begin, end) of a file. `switch` has the same effect, but only if {k} is the
# mutant that was chosen at run time.
Mutant = collections.namedtuple("Mutant", "file begin end text switch rule line alone")


class Finder:
    """Finds all places of one file."""

    def __init__(self, file):
        self.file = file
        self.source = (ROOT / file).read_bytes()
        self.found = []
        compiler = (ROOT / "source/platform/compiler.h").read_text()
        compiler = re.sub(r"#define (WEFT_(?:UN)?LIKELY)\(x\) .*", r"inline bool \1(bool x) { return x; }", compiler)
        # both branches of the #if define them; only one is compiled
        unit = clang.Index.create().parse(
            str(ROOT / file), args=["-x", "c++", *(f"-I{ROOT}/{flag[2:]}" for flag in FLAGS[1:]), FLAGS[0]],
            unsaved_files=[(str(ROOT / "source/platform/compiler.h"), compiler)])
        for cursor in unit.cursor.get_children():
            self.visit(cursor, None, False)

    def text(self, begin, end):
        return self.source[begin:end].decode()

    def span(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def add(self, cursor, begin, end, text, rule, switch=None):
        old = self.text(begin, end)
        switch = switch or f"(weft_mutant == {{k}} ? ({text}) : ({old}))"
        self.found.append(Mutant(self.file, begin, end, text, switch, rule, cursor.extent.start.line, self.constant))

    def visit(self, cursor, function, in_body):
        where = cursor.location.file
        if where is not None and where.name != str(ROOT / self.file):
            return
        if cursor.kind in FUNCTIONS:
            function = cursor
        if cursor.kind in (Kind.CASE_STMT, Kind.STATIC_ASSERT, Kind.ENUM_DECL, Kind.TEMPLATE_NON_TYPE_PARAMETER):
            return
        if function is not None:
            self.constant = "constexpr" in self.text(function.extent.start.offset, self.body_begin(function))
        if in_body:
            self.expression(cursor)
        if cursor.kind == Kind.COMPOUND_STMT and function is not None:
            self.block(cursor, function)
        inside = in_body or (function is not None and cursor.kind == Kind.COMPOUND_STMT)
        for child in cursor.get_children():
            self.visit(child, function, inside)

    def body_begin(self, function):
        bodies = [child for child in function.get_children() if child.kind == Kind.COMPOUND_STMT]
        return bodies[-1].extent.start.offset if bodies else function.extent.end.offset

    def expression(self, cursor):
        begin, end = self.span(cursor)
        children = list(cursor.get_children())
        if cursor.kind == Kind.BINARY_OPERATOR and len(children) == 2:
            left, right = self.span(children[0]), self.span(children[1])
            operator = self.text(left[1], right[0]).strip()
            for other in COMPARISONS.get(operator, []):
                text = f"{self.text(*left)} {other} {self.text(*right)}"
                self.add(cursor, begin, end, text, f"{operator} becomes {other}")
        elif cursor.kind in (Kind.IF_STMT, Kind.WHILE_STMT, Kind.CONDITIONAL_OPERATOR) and children:
            condition = children[0]
            if "constexpr" not in self.text(begin, self.span(condition)[0]) and condition.kind not in (
                    Kind.DECL_STMT, Kind.VAR_DECL):
                at = self.span(condition)
                self.add(condition, *at, f"!({self.text(*at)})", "a condition is negated")
        elif cursor.kind == Kind.INTEGER_LITERAL:
            if re.fullmatch(r"[0-9']+u?", self.text(begin, end)):
                self.add(cursor, begin, end, f"{self.text(begin, end)} + 1", "a constant is greater by one")
        elif cursor.kind == Kind.DECL_REF_EXPR and cursor.spelling in ORDERS:
            if self.text(begin, end).endswith(cursor.spelling):
                text = self.text(begin, end).replace(cursor.spelling, ORDERS[cursor.spelling])
                self.add(cursor, begin, end, text, f"{cursor.spelling} becomes relaxed")
        elif cursor.kind == Kind.CALL_EXPR:
            self.call(cursor)

    def call(self, cursor):
        spans = [self.span(argument) for argument in cursor.get_arguments() if argument is not None]
        if any(begin >= end for begin, end in spans):
            return  # default arguments
        for (b1, e1), (b2, e2) in itertools.pairwise(spans):
            one, two, between = self.text(b1, e1), self.text(b2, e2), self.text(e1, b2)
            if one != two and between.strip() == ",":
                begin, end = self.span(cursor)
                text = self.text(begin, b1) + two + between + one + self.text(e2, end)
                self.add(cursor, begin, end, text, "two arguments are swapped")
        if cursor.spelling in WAKES and spans and self.text(*spans[-1]) != "1":
            self.add(cursor, *spans[-1], "1", "one is woken instead of all")

    def block(self, cursor, function):
        is_void = function.kind != Kind.LAMBDA_EXPR and function.result_type.spelling == "void"
        plain = []
        for statement in cursor.get_children():
            begin, end = self.span(statement)
            semicolon = self.source.find(b";", end)
            single = statement.kind in STATEMENTS and self.text(end, semicolon).strip() == ""
            plain.append((begin, semicolon + 1) if single else None)
            if not single:
                continue
            old = self.text(begin, semicolon + 1)
            self.add(statement, begin, semicolon + 1, "", "a statement is left out",
                     f"if (weft_mutant != {{k}}) {old}")
            if is_void:
                self.add(statement, begin, semicolon + 1, f"return; {old}", "an early return",
                         f"if (weft_mutant == {{k}}) return; {old}")
        for one, two in itertools.pairwise(plain):
            if one and two and self.text(one[1], two[0]).strip() == "":
                first, second = self.text(*one), self.text(*two)
                self.found.append(Mutant(
                    self.file, one[0], two[1], f"{second} {first}",
                    f"if (weft_mutant == {{k}}) {{ {second} {first} }} else {{ {first} {second} }}",
                    "two statements are swapped", self.source[:one[0]].count(b"\n") + 1, self.constant))


def files():
    listed = subprocess.run(["git", "ls-files", "source", "include/weft"], cwd=ROOT, text=True, check=True,
                            capture_output=True).stdout.split()
    return [file for file in listed if file.endswith((".h", ".cpp")) and not OTHER_SYSTEMS.search(file)]


def unit_of(file):
    """Returns a source file that contains the file, or None."""
    if file.endswith(".cpp"):
        return file
    own = file[:-2] + ".cpp"
    if (ROOT / own).exists():
        return own
    name = re.sub("^(source|include)/", "", file)
    found = subprocess.run(["grep", "-rlF", f'"{name}"', "source", "tests", "--include=*.cpp"], cwd=ROOT, text=True,
                           capture_output=True).stdout.split()
    found = [one for one in found if not OTHER_SYSTEMS.search(one) and "relacy" not in one and "tests/c/" not in one]
    return min(found, key=lambda one: (not one.startswith("source/"), one)) if found else None


def changed(mutant, text):
    source = (ROOT / mutant.file).read_bytes()
    return source[:mutant.begin] + text.encode() + source[mutant.end:]


def code_of(unit, extra=()):
    out = WORK / "object.o"
    # the same object code, apart from line numbers: so no -g, and no paths
    done = subprocess.run(["nice", "g++", "-O2", "-DNDEBUG", "-w", *FLAGS, *extra, "-c", unit, "-o", str(out)], cwd=TREE,
                          capture_output=True)
    return out.read_bytes() if done.returncode == 0 else None


original = {}


def is_fit(mutant, quick):
    """Returns whether the mutant compiles and changes code, and whether it can be switched."""
    unit = unit_of(mutant.file)
    if unit is None:
        return False, False
    if unit not in original:
        original[unit] = code_of(unit)
    path = TREE / mutant.file
    before = path.read_bytes()
    path.write_bytes(changed(mutant, mutant.text))
    code = code_of(unit)
    switched = False
    if code is not None and code != original[unit] and not mutant.alone:
        path.write_bytes(changed(mutant, mutant.switch.format(k=1)))
        switched = code_of(unit, ["-include", str(WORK / "mutant.h")]) is not None
    path.write_bytes(before)
    return code is not None and code != original[unit] and (switched or not quick), switched


def copy_tree():
    TREE.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, capture_output=True).stdout
    archive = subprocess.Popen(["tar", "--null", "--files-from=-", "-c"], cwd=ROOT, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    unpack = subprocess.Popen(["tar", "-x", "-C", str(TREE)], stdin=archive.stdout)
    archive.stdin.write(listed)
    archive.stdin.close()
    if unpack.wait() != 0:
        sys.exit("the copy of the tree")
    (WORK / "mutant.h").write_text(
        "#pragma once\n#ifdef __cplusplus\n#include <cstdlib>\n"
        "inline const int weft_mutant = [] { const char *text = std::getenv(\"WEFT_MUTANT\");"
        " return text ? std::atoi(text) : 0; }();\n#endif\n")


def draw(count, seed, quick):
    """Returns mutants that do not overlap, each with whether it can be switched."""
    print("looking for places", flush=True)
    places = [mutant for file in files() for mutant in Finder(file).found]
    print(f"{len(places)} places", flush=True)
    generator = random.Random(seed)
    chosen, drawn = [], 0
    generator.shuffle(places)
    for mutant in places:
        if len(chosen) == count:
            break
        if any(one.file == mutant.file and one.begin < mutant.end and mutant.begin < one.end for one, _ in chosen):
            continue
        drawn += 1
        fit, switched = is_fit(mutant, quick)
        if fit:
            chosen.append((mutant, switched))
    print(f"{len(chosen)} mutants of {drawn} drawn; the others do not compile, or change no code", flush=True)
    return chosen


def build(log, flags=""):
    environment = dict(os.environ, WEFT_UNITY="1", CXXFLAGS=f"{os.environ.get('CXXFLAGS', '')} {flags} -w -Wno-error")
    premake = subprocess.run(["third_party/setup.sh", "catch2", "libhwloc-dev", "liburing-dev"], cwd=TREE, text=True,
                             capture_output=True, check=True).stdout.strip()
    with open(log, "w") as out:
        for command in ([premake, "gmake2"],
                        ["make", "-C", "build/premake", f"-j{os.cpu_count()}", "config=release", "unit_tests", "simulator"]):
            if subprocess.run(command, cwd=TREE, env=environment, stdout=out, stderr=out).returncode != 0:
                return False
    return True


def tests_of(file):
    name = re.sub(r"^(source|include/weft)/", "", file)
    parts = pathlib.PurePath(name)
    layer = parts.parts[0] if len(parts.parts) > 1 else "scheduler"
    folder = ROOT / "tests" / layer
    own = f"{parts.stem}_test"
    of_layer = sorted(one.stem for one in folder.glob("*_test.cpp")) if folder.is_dir() else []
    return [own] if list((ROOT / "tests").rglob(f"{own}.cpp")) else [], of_layer


def rungs(file):
    own, of_layer = tests_of(file)
    unit = "build/Release/unit_tests"
    if own:
        yield "its tests", [unit, "-#", "".join(f"[#{one}]" for one in own) + "~[long]"]
    model = ["build/Release/simulator", "--schedules", str(SCHEDULES), "--until-failure"]
    yield "models", model
    yield "weak models", [*model, "--weak"]
    if of_layer:
        yield "its layer", [unit, "-#", ",".join(f"[#{one}]~[long]" for one in of_layer)]
    yield "all tests", [unit, "~[long]"]


def catch(number, mutant, quick):
    environment = dict(os.environ, WEFT_MUTANT=str(number))
    for name, command in rungs(mutant.file):
        if quick and name in ("weak models", "all tests"):
            continue
        try:
            done = subprocess.run(["nice", *command], cwd=TREE, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return name
        if done.returncode != 0:
            return name
    return ""


def interval(caught, all_):
    """The Wilson interval of a share, at 95 %."""
    if all_ == 0:
        return 0.0, 1.0
    z, share = 1.96, caught / all_
    middle = share + z * z / (2 * all_)
    half = z * math.sqrt(share * (1 - share) / all_ + z * z / (4 * all_ * all_))
    return (middle - half) / (1 + z * z / all_), (middle + half) / (1 + z * z / all_)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("seed")
    parser.add_argument("--from", dest="first", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    copy_tree()
    chosen = draw(options.count, options.seed, options.quick)
    together = [(k, mutant) for k, (mutant, switched) in enumerate(chosen, 1) if switched]
    for file in {mutant.file for _, mutant in together}:
        source = (ROOT / file).read_bytes()
        for k, mutant in sorted(((k, m) for k, m in together if m.file == file), key=lambda one: -one[1].begin):
            source = source[:mutant.begin] + mutant.switch.format(k=k).encode() + source[mutant.end:]
        (TREE / file).write_bytes(source)
    print(f"building {len(together)} together", flush=True)
    if not build(WORK / "build.log", f"-include {WORK / 'mutant.h'}"):
        sys.exit(f"the build failed: {WORK / 'build.log'}")
    environment = dict(os.environ, WEFT_MUTANT="0")
    if subprocess.run(["build/Release/simulator", "--schedules", "5"], cwd=TREE, env=environment,
                      stdout=subprocess.DEVNULL).returncode != 0:
        sys.exit("the models fail without a mutant")
    results = WORK.parent / f"{options.seed}.csv"
    score = collections.Counter()
    with open(results, "w" if options.first == 1 else "a", newline="") as out:
        table = csv.writer(out)
        for k, mutant in together:
            if k < options.first:
                continue
            began = time.monotonic()
            rung = catch(k, mutant, options.quick)
            score[rung] += 1
            old = (ROOT / mutant.file).read_bytes()[mutant.begin:mutant.end].decode()
            table.writerow([k, f"{mutant.file}:{mutant.line}", mutant.rule, old, mutant.text, rung or "survived",
                            round(time.monotonic() - began)])
            out.flush()
            print(f"{k} {mutant.file}:{mutant.line} {mutant.rule}: {rung or 'SURVIVED'}", flush=True)
            if not rung:
                print(f"    {old}\n    {mutant.text}", flush=True)
    all_ = sum(score.values())
    caught = all_ - score[""]
    low, high = interval(caught, all_)
    print(f"{caught} of {all_} caught: {100 * caught / max(all_, 1):.0f} %, interval {100 * low:.0f} to {100 * high:.0f} %; "
          + ", ".join(f"{name or 'none'} {number}" for name, number in score.most_common())
          + f"; {len(chosen) - len(together)} cannot be switched and were not tried")


if __name__ == "__main__":
    main()
