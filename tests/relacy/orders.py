"""Which memory orders there are in a source file, and how each is weakened by one step."""

import collections
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# The orders that are one step weaker, for each kind of operation.
WEAKER = {
    "load": {"SeqCst": ["Acquire"], "Acquire": ["Relaxed"]},
    "store": {"SeqCst": ["Release"], "Release": ["Relaxed"]},
    "update": {"SeqCst": ["AcqRel"], "AcqRel": ["Acquire", "Release"], "Acquire": ["Relaxed"], "Release": ["Relaxed"]},
}
STANDARD = {"Relaxed": "relaxed", "Acquire": "acquire", "Release": "release", "AcqRel": "acq_rel", "SeqCst": "seq_cst"}
ORDER = re.compile(r"\bk(SeqCst|AcqRel|Acquire|Release)\b|\bstd::memory_order_(seq_cst|acq_rel|acquire|release)\b")
# Functions that pass an order on to the operation of their word (weft/sync/wait_queue.h, sync/permit_word.h).
HANDED_ON = {"Word": "load", "Change": "update", "ChangeFree": "update"}
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
            header = re.sub(r"\btemplate\s*<[^<>]*>", "", code[begin:position])
            name = stack[-1] if stack else None
            found = re.match(r"\s*(?:[\w:<>,&*~#\s]|\[\[\w+\]\])*?(~?\w+)\s*\(", header)
            # A lambda or an initialiser belongs to the function around it.
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
        elif name in HANDED_ON:
            kind = HANDED_ON[name]
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
