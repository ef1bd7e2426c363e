#!/usr/bin/env python3
"""Weakens each memory order by one step in turn, and expects a suite of tests/relacy/ to fail, or a model of the simulator.

    weaken.py --work DIR [--sample] [--jobs N] [--percent N] [--schedules N] [--list] [PATTERN...]

tests/relacy.sh calls this. --sample: only those named in SAMPLE. --list: only says which there are. PATTERN: only those whose
line in the table contains it. --percent: of the suites' iterations. --schedules: of each model; four times as many where few models are run. DIR gets a copy
of the tree for each job, and what is built.

The files in SOURCES are put to the suites, all others to the simulator with
memory orders (simulator --weak).

A weakening that nothing sees must stand in tests/relacy/survivors.md, with the reason; one that stands there and is seen
must not. They are named by file, function and text, not by line.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from orders import ROOT, weakenings  # noqa: E402

SURVIVORS = "tests/relacy/survivors.md"

# Files that the suites test. All other files with atomic operations are tested with the simulator's models.
SOURCES = [
    "source/containers/work_stealing_deque.h",
    "source/containers/push_list.h",
    "source/containers/atomic_bit_set.h",
    "source/containers/segment_pool.h",
    "source/core/counters.h",
    "source/core/counters.cpp",
    "source/core/idle.h",
    "source/core/notices.h",
    "source/scheduler/state/entry_gate.h",
    "source/scheduler/state/fibers.h",
    "source/scheduler/run/ending.cpp",
    "source/scheduler/wait/wait.h",
    "include/weft/counter.h",
]

# For files that only some models use: the beginnings of the names of these models. The other files are tested with all models.
MODELS = {
    "source/blocking/": ("call_",),
    "source/frame/": ("frame", "tagged_", "arenas"),
    "source/graph/": ("graph_",),
    "source/post/": ("post_",),
    "source/sync/": ("sync_",),
    "include/weft/data/": ("cancel_", "failures"),
    "include/weft/frame/": ("frame",),
}

# Files that the environments of both replace.
NEITHER = ["source/platform/"]

# Weakenings that each run includes, to show that the suites can fail: file, function, and part of the operation.
SAMPLE = [
    ("source/containers/work_stealing_deque.h", "PopIf", "m_bottom.exchange(bottom, kSeqCst)"),
    ("source/containers/push_list.h", "TakeNewestFirst", "m_head.exchange(nullptr, kAcquire)"),
    ("source/core/idle.h", "PlainWanted", "m_state.load(kSeqCst)"),
]


def suites():
    folder = os.path.join(ROOT, "tests/relacy")
    return sorted(name[:-4] for name in os.listdir(folder) if name.endswith(".cpp"))


def compiler(tree):
    # Without optimisation: most of the time is compile time, and a weakening that is found is found soon.
    flags = os.environ["WEFT_RELACY_FLAGS"].replace("-O1", "-O0")
    return (os.environ.get("CXX", "g++").split() + flags.split() +
            ["-I" + os.path.join(tree, folder) for folder in ("include", "source", "tests")])


def suites_with(file, cache={}):
    """The suites that a file is compiled into, first those that are named after it. `ending`, which takes longest, is for
    the scheduler's files alone."""
    for suite in suites():
        if suite not in cache:
            out = subprocess.run(compiler(ROOT) + ["-MM", os.path.join(ROOT, "tests/relacy", suite + ".cpp")],
                                 stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
            cache[suite] = out
    stem = os.path.basename(file).split(".")[0]
    alike = lambda suite: (suite not in stem and stem.split("_")[0] not in suite, suite)
    fitting = [suite for suite in suites() if os.path.join(ROOT, file) in cache[suite]]
    if "/scheduler/" not in file:
        fitting = [suite for suite in fitting if suite != "ending"]
    return sorted(fitting, key=alike)


def survivors():
    """The rows of the tables in survivors.md."""
    rows = {}
    file = None
    with open(os.path.join(ROOT, SURVIVORS)) as page:
        for line in page:
            heading = re.match(r"## `(.*)`", line)
            if heading:
                file = heading.group(1)
            cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split(" | ")]
            if file and line.startswith("| `") and len(cells) == 4:
                rows[file, cells[0], cells[1], cells[2]] = cells[3]
    return rows


SIMULATOR = """
FLAGS := -std=c++17 -w -DNDEBUG -O1 -DWEFT_SIMULATOR=1 -include tests/simulator/env_simulator.h -Iinclude -Isource -Itests
UNUSED := %_windows.cpp %_pthread.cpp %_emscripten.cpp $(foreach f,env_production parker% thread_% fork_mark_% off_cpu_% signal_stack_% stack_memory_%,source/platform/$(f).cpp)
OBJECTS := $(patsubst %.cpp,objects/%.o,$(filter-out $(UNUSED) source/topology/% source/io/%,$(wildcard source/*/*.cpp source/*/*/*.cpp tests/simulator/*.cpp tests/support/pages_posix.cpp)))
objects/simulator: $(OBJECTS)
	@g++ -o $@ $(OBJECTS) -lboost_context -pthread -ldl
objects/%.o: %.cpp
	@mkdir -p $(@D)
	@g++ $(FLAGS) -MMD -c $< -o $@
-include $(OBJECTS:.o=.d)
"""


def simulate(tree, file, schedules):
    """Builds and runs the simulator; what saw a weakening of the file, or None, and the schedules that saw nothing."""
    with open(os.path.join(tree, "simulator.make"), "w") as makefile:
        makefile.write(SIMULATOR)
    subprocess.run(["make", "-s", "-C", tree, "-f", "simulator.make"], check=True)
    simulator = os.path.join(tree, "objects/simulator")
    begins = next((models for folder, models in MODELS.items() if file.startswith(folder)), None)
    runs = [[]]  # all models
    if begins is not None:
        names = subprocess.run([simulator, "--list"], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
        runs = [["--model", name] for name in names.split() if name.startswith(begins)]
        schedules *= 4  # few models
    passed = 0
    for model in runs:
        try:
            run = subprocess.run([simulator, "--weak", "--until-failure", "--schedules", str(schedules)] + model,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1200, universal_newlines=True)
        except subprocess.TimeoutExpired:
            return " ".join(["simulator:"] + model[1:] + ["hang"]), passed
        failed = re.search(r"^(\S+) +FAILED after (\d+) schedules: seed \d+: (.*)$", run.stdout, re.M)
        if failed:
            return "simulator %s after %s: %s" % failed.groups(), passed
        if run.returncode != 0:
            return " ".join(["simulator:"] + model[1:] + ["exit %d" % run.returncode]), passed
        passed += sum(int(n) for n in re.findall(r" distinct of +(\d+) schedules", run.stdout))
    return None, passed


def simulated():
    """The other files with memory orders."""
    files = []
    for folder in ("source", "include"):
        for where, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                file = os.path.relpath(os.path.join(where, name), ROOT)
                isOther = file not in SOURCES and not file.startswith(tuple(NEITHER))
                if isOther and name.endswith((".h", ".cpp")) and any(weakenings(file)):
                    files.append(file)
    return sorted(files)


def find(work, slot, weakening, percent, schedules):
    """Builds and runs; what saw it, or None, and the iterations that saw nothing. `slot`: which copy of the tree."""
    tree = os.path.join(work, "tree%d" % slot)
    if not os.path.isdir(tree):
        for folder in ("include", "source", "tests"):
            shutil.copytree(os.path.join(ROOT, folder), os.path.join(tree, folder))
    original = os.path.join(ROOT, weakening.file)
    changed = os.path.join(tree, weakening.file)
    with open(original) as source:
        text = source.read()
    with open(changed, "w") as source:
        source.write(text[:weakening.begin] + weakening.replacement + text[weakening.end:])
    iterations = 0
    try:
        if weakening.file not in SOURCES:
            return simulate(tree, weakening.file, schedules)
        header = os.path.join(tree, "tests/relacy/env_relacy.h")  # most of the compile time of a suite
        if not os.path.exists(header + ".gch"):
            flags = [flag for flag in compiler(tree) if flag not in ("-include", "relacy/env_relacy.h")]
            subprocess.run(flags + ["-x", "c++-header", header, "-o", header + ".gch"], check=True)
        for suite in suites_with(weakening.file):
            program = os.path.join(tree, suite + ".program")
            subprocess.run(compiler(tree) + [os.path.join(tree, "tests/relacy", suite + ".cpp"), "-o", program], check=True)
            try:
                run = subprocess.run([program, "--iterations", str(percent)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                                     universal_newlines=True)
            except subprocess.TimeoutExpired:
                return "%s: hang" % suite, iterations
            failed = re.search(r"^(\S+) FAILED after (\d+) iterations: (.*)$", run.stdout, re.M)
            if failed:
                return "%s %s after %s: %s" % (suite, failed.group(1), failed.group(2), failed.group(3).lower()), iterations
            if run.returncode != 0:
                return "%s: exit %d" % (suite, run.returncode), iterations
            iterations += int(re.search(r"(\d+) iterations$", run.stdout.strip()).group(1))
        return None, iterations
    finally:
        shutil.copy(original, changed)  # newer than what was built from it


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--percent", type=int, default=25)
    parser.add_argument("--schedules", type=int, default=5000)
    parser.add_argument("patterns", nargs="*")
    arguments = parser.parse_args()
    begin = time.time()

    every = [weakening for file in SOURCES + simulated() for weakening in weakenings(file)]
    known = survivors()
    title = lambda weakening: "%s:%d %s: %s, %s" % (weakening.file, weakening.line, weakening.function, weakening.text,
                                                   weakening.change)
    key = lambda weakening: (weakening.file, weakening.function, weakening.text, weakening.change)
    chosen = every
    if arguments.sample:
        chosen = []
        for file, function, part in SAMPLE:
            fitting = [w for w in every if w.file == file and w.function == function and part in w.text]
            if not fitting:
                sys.exit("weaken.py: no order left like %s in %s of %s" % (part, function, file))
            chosen.append(fitting[0])
    chosen = [w for w in chosen if not arguments.patterns or any(p in title(w) for p in arguments.patterns)]
    if arguments.list:
        for weakening in chosen:
            print(title(weakening))
        return 0

    bad = 0
    for row in sorted(set(known) - {key(weakening) for weakening in every}):
        bad += 1
        print("%s names what is not there: %s" % (SURVIVORS, " | ".join(row)))
    caught = survived = 0
    slots = list(range(arguments.jobs))

    def one(weakening):
        slot = slots.pop()
        try:
            return find(arguments.work, slot, weakening, arguments.percent, arguments.schedules)
        finally:
            slots.append(slot)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for weakening, (seen, iterations) in zip(chosen, pool.map(one, chosen)):
            if seen is not None:
                caught += 1
                verdict = seen
                if key(weakening) in known:
                    bad += 1
                    verdict += " (BUT " + SURVIVORS + " says that it survives)"
            else:
                survived += 1
                verdict = "survived %d iterations" % iterations
                if key(weakening) not in known:
                    bad += 1
                    verdict = "SURVIVED %d iterations, and is not in %s" % (iterations, SURVIVORS)
            print("%s | %s" % (title(weakening), verdict), flush=True)
    print("%d weakenings: %d caught, %d survive and are documented, %d wrong; %d s" %
          (len(chosen), caught, survived, bad, time.time() - begin))
    return 0 if bad == 0 and chosen else 1


if __name__ == "__main__":
    sys.exit(main())
