#!/usr/bin/env python3
"""Weakens each memory order by one step in turn, and expects a suite of tests/relacy/ to fail, or a model of the simulator.

    weaken.py --work DIR [--sample] [--jobs N] [--percent N] [--schedules N] [--list] [PATTERN...]

tests/relacy.sh calls this. --sample: only those named in SAMPLE. --list: only says which there are. PATTERN: only those whose
line in the table contains it. --percent: of the suites' iterations. --schedules: of each model. DIR gets a copy of the tree for each job, and what is built.

The mechanisms, and what decides of the end of a run, are put to the suites; the rest of the scheduler to the simulator with
memory orders (simulator --weak).

A weakening that nothing sees must stand in tests/relacy/survivors.md, with the reason; one that stands there and is seen
must not. They are named by file, function and text, not by line.
"""

import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SURVIVORS = "tests/relacy/survivors.md"

# Everything that atomics are used in. What the suites exercise:
SOURCES = [
    "source/containers/work_stealing_deque.h",
    "source/containers/push_list.h",
    "source/containers/atomic_bit_set.h",
    "source/containers/segment_pool.h",
    "source/containers/task_slab.h",
    "source/mechanisms/counter_waiting.h",
    "source/mechanisms/counter_waiting.cpp",
    "source/mechanisms/idle_set.h",
    "source/mechanisms/fiber_pool.cpp",
    "source/scheduler/gate.h",
    "source/scheduler/idle.cpp",
    "source/scheduler/claim.h",
    "source/scheduler/wait.h",
    "include/weft/counter.h",
]

# What the simulator's models exercise:
SIMULATED = [
    "source/mechanisms/scheduler_tags.h",
    "source/mechanisms/scheduler_tags.cpp",
    "source/scheduler/any_work.cpp",
    "source/scheduler/attach.cpp",
    "source/scheduler/claim.cpp",
    "source/scheduler/fiber_switch.cpp",
    "source/scheduler/find_work.cpp",
    "source/scheduler/foreign.cpp",
    "source/scheduler/lifecycle.cpp",
    "source/scheduler/low_limit.h",
    "source/scheduler/low_limit.cpp",
    "source/scheduler/pinned.cpp",
    "source/scheduler/post.cpp",
    "source/scheduler/scheduler.h",
    "source/scheduler/task_scheduler.cpp",
    "source/scheduler/wait_any.cpp",
    "source/sync/condition_variable.cpp",
    "source/sync/event.cpp",
    "source/sync/mutex.cpp",
    "source/sync/permits.cpp",
    "source/sync/ticket_queue.cpp",
    "source/sync/wait_group.cpp",
    "source/sync/wait_queue.cpp",
]

# Shows in every run that the suites can fail: file, function, and part of the operation.
SAMPLE = [
    ("source/containers/work_stealing_deque.h", "PopIf", "m_bottom.exchange(bottom, kSeqCst)"),
    ("source/containers/push_list.h", "TakeAll", "m_head.exchange(nullptr, kAcquire)"),
    ("source/mechanisms/counter_waiting.h", "TryDecrement", "kAcqRel, kRelaxed)"),
    ("source/mechanisms/idle_set.h", "Wanted", "m_state.load(kSeqCst)"),
    ("source/mechanisms/fiber_pool.cpp", "AnyFree", "load(kSeqCst)"),
    ("source/scheduler/gate.h", "NobodyInside", "stripe.inside.load(kSeqCst)"),
]

# How each order is weakened by one step, by the kind of operation.
WEAKER = {
    "load": {"SeqCst": ["Acquire"], "Acquire": ["Relaxed"]},
    "store": {"SeqCst": ["Release"], "Release": ["Relaxed"]},
    "update": {"SeqCst": ["AcqRel"], "AcqRel": ["Acquire", "Release"], "Acquire": ["Relaxed"], "Release": ["Relaxed"]},
}
STANDARD = {"Relaxed": "relaxed", "Acquire": "acquire", "Release": "release", "AcqRel": "acq_rel", "SeqCst": "seq_cst"}
ORDER = re.compile(r"\bk(SeqCst|AcqRel|Acquire|Release)\b|\bstd::memory_order_(seq_cst|acq_rel|acquire|release)\b")
NOT_FUNCTIONS = {"if", "for", "while", "switch", "do", "else", "return", "catch", "sizeof", "alignas", "noexcept", "decltype"}

Weakening = collections.namedtuple("Weakening", "file line function text change begin end replacement")


def without_comments(text):
    """The same length, with comments and strings blanked."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", blank, text, flags=re.S)


def functions(code):
    """For each position of an opening brace the function that it belongs to."""
    stack, result, begin = [], [], 0
    for position, char in enumerate(code):
        if char == "{":
            header = code[begin:position]
            name = stack[-1] if stack else None
            found = re.match(r"\s*(?:[\w:<>,&*~#\s]|\[\[\w+\]\])*?(~?\w+)\s*\(", header)
            # A lambda, or an initialiser, belongs to the function around it.
            if found and found.group(1) not in NOT_FUNCTIONS and not re.search(r"\[[^\[\]]*\]\s*(\(|$)", header):
                if not re.search(r"=\s*$|\breturn\b", header):
                    name = found.group(1)
            stack.append(name)
        elif char == "}":
            if stack:
                stack.pop()
        if char in "{};":
            begin = position + 1
        result.append(stack[-1] if stack else None)
    return result


def operation(code, position):
    """The atomic operation around an order: where it begins and ends, its name, and which argument the order is."""
    depth, argument = 0, 0
    for i in range(position - 1, -1, -1):
        if code[i] in ")]}":
            depth += 1
        elif code[i] in "([{":
            if depth == 0:
                break
            depth -= 1
        elif code[i] == "," and depth == 0:
            argument += 1
    name = re.search(r"(\w+)\s*$", code[:i]).group(1)
    begin = re.search(r"(?:[\w>.&*:]|->|\[[^\]]*\]|\([^()]*\))*$", code[:i]).start()
    depth = 0
    for end in range(i, len(code)):
        if code[end] == "(":
            depth += 1
        elif code[end] == ")":
            depth -= 1
            if depth == 0:
                break
    return begin, end + 1, name, argument


def weakenings(file):
    with open(os.path.join(ROOT, file)) as source:
        text = source.read()
    code = without_comments(text)
    owner = functions(code)
    seen = collections.Counter()
    counted = {}
    for match in ORDER.finditer(code):
        begin, end, name, argument = operation(code, match.start())
        if name == "load" or name == "compare_exchange_strong" and argument == 3:
            kind = "load"
        elif name == "store":
            kind = "store"
        elif name in ("exchange", "compare_exchange_strong") or name.startswith("fetch_"):
            kind = "update"
        else:
            continue
        operator = " ".join(text[begin:end].split())
        function = owner[begin] or "-"
        if (begin, end) not in counted:
            seen[function, operator] += 1
            counted[begin, end] = seen[function, operator]
        if counted[begin, end] > 1:
            operator += " (%d)" % counted[begin, end]
        order = match.group(1) or {value: key for key, value in STANDARD.items()}[match.group(2)]
        for weaker in WEAKER[kind].get(order, []):
            replacement = "k" + weaker if match.group(1) else "std::memory_order_" + STANDARD[weaker]
            which = "failure: " if name == "compare_exchange_strong" and argument == 3 else ""
            change = "%s%s to %s" % (which, STANDARD[order], STANDARD[weaker])
            line = text.count("\n", 0, match.start()) + 1
            yield Weakening(file, line, function, operator, change, match.start(), match.end(), replacement)


def suites():
    folder = os.path.join(ROOT, "tests/relacy")
    return sorted(name[:-4] for name in os.listdir(folder) if name.endswith(".cpp"))


def compiler(tree):
    # Without optimisation: most of the time goes into compiling, and what is seen at all is seen soon.
    flags = os.environ["WEFT_RELACY_FLAGS"].replace("-O1", "-O0")
    return (os.environ.get("CXX", "g++").split() + flags.split() +
            ["-I" + os.path.join(tree, folder) for folder in ("include", "source", "tests")])


def suites_with(file, cache={}):
    """The suites that a file is compiled into, first those that are named after it. `shutdown`, which takes longest, is for
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
        fitting = [suite for suite in fitting if suite != "shutdown"]
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
UNUSED := %_windows.cpp %_pthread.cpp $(foreach f,env_production parker_% thread_% fork_mark_% signal_stack_% stack_memory_%,source/platform/$(f).cpp)
OBJECTS := $(patsubst %.cpp,objects/%.o,$(filter-out $(UNUSED),$(wildcard source/*/*.cpp tests/simulator/*.cpp tests/support/pages_posix.cpp)))
objects/simulator: $(OBJECTS)
	@g++ -o $@ $(OBJECTS) -lboost_context -pthread -ldl
objects/%.o: %.cpp
	@mkdir -p $(@D)
	@g++ $(FLAGS) -MMD -c $< -o $@
-include $(OBJECTS:.o=.d)
"""


def simulate(tree, schedules):
    """Builds and runs the simulator; what saw the weakening, or None, and the schedules that saw nothing."""
    with open(os.path.join(tree, "simulator.make"), "w") as makefile:
        makefile.write(SIMULATOR)
    subprocess.run(["make", "-s", "-C", tree, "-f", "simulator.make"], check=True)
    try:
        run = subprocess.run([os.path.join(tree, "objects/simulator"), "--weak", "--until-failure", "--schedules", str(schedules)],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1200, universal_newlines=True)
    except subprocess.TimeoutExpired:
        return "simulator: hang", 0
    failed = re.search(r"^(\S+) +FAILED after (\d+) schedules: seed \d+: (.*)$", run.stdout, re.M)
    if failed:
        return "simulator %s after %s: %s" % failed.groups(), 0
    if run.returncode != 0:
        return "simulator: exit %d" % run.returncode, 0
    return None, sum(int(n) for n in re.findall(r" distinct of +(\d+) schedules", run.stdout))


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
        if weakening.file in SIMULATED:
            return simulate(tree, schedules)
        header = os.path.join(tree, "tests/relacy/env_relacy.h")  # most of what each suite takes to compile
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
        shutil.copy(original, changed)  # newer than what was built of it


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

    every = [weakening for file in SOURCES + SIMULATED for weakening in weakenings(file)]
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
