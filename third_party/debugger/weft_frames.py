# Stacks, as both debuggers print them.
import re


class AnyFrame:
    """A frame of a stack. A front end sets the members. `symbol`: the function in the symbol table,
    into which `name` may be inlined. `place`: where the code lies in its file."""

    pc, name, symbol, is_inlined, file, line, place = 0, '', '', False, '', 0, '??'

    def text(self):
        where = ' at %s:%d' % (self.file, self.line) if self.file else ''
        return '0x%x in %s%s' % (self.pc, self.name or self.place, where)

    def is_wefts(self):
        """Returns true for a function of weft that users do not want to see."""
        symbol = short_name(self.symbol)
        if symbol.startswith('weft::') and '<' not in symbol and (
                self.is_inlined or self.name == 'operator()'):
            return True
        # A template may have its result in front.
        inner = r'(?:\w+ )?weft::(?:internal|env|TaskScheduler|\(anonymous namespace\))::'
        return bool(re.match(inner, self.name) or re.match(inner, symbol))


def short_name(function):
    """Returns the name of a function without its arguments."""
    name = function or ''
    for text, mark in (('(anonymous namespace)', '\1'), ('operator()', '\2')):
        name = name.replace(text, mark)
    name = name.split('(')[0].lstrip(':')
    return name.replace('\1', '(anonymous namespace)').replace('\2', 'operator()')


def places(frames_of, most=256):
    """Returns a function that returns the place of a fiber. Only for the first ones: with many
    fibers this would take minutes."""
    asked = []

    def place(fiber):
        asked.append(fiber)
        return place_of(fiber, frames_of(fiber)) if len(asked) <= most else ''
    return place


def place_of(fiber, frames):
    """Returns the innermost function that is neither weft's nor the standard library's, or ''."""
    if fiber.state == 'blocked':  # in a system call of weft
        wefts = [i for i, frame in enumerate(frames) if frame.is_wefts()]
        frames = frames[wefts[0]:] if wefts else frames
    names = [f.name for f in frames if f.name and not f.is_wefts()]
    return next((name for name in names if not name.startswith('std::')), names[0] if names else '')


def thread_on(stacks, stack):
    """Returns the thread whose stack pointer lies in the stack of a Fiber or Worker, or None.
    `stacks`: (thread, stack pointer)."""
    return next((thread for thread, pointer in stacks
                 if stack.bottom <= pointer < stack.bottom + stack.bytes), None)


def thread_of(stacks, worker):
    """Returns the thread of a worker, or None if nothing tells which one it is."""
    if worker.fiber and worker.fiber.bottom:
        return thread_on(stacks, worker.fiber)
    # glibc keeps what it knows of a thread, its pthread_t, at the upper end of the thread's stack.
    above = [(worker.thread - stack, i) for i, (_, stack) in enumerate(stacks)
             if stack < worker.thread]
    if above and min(above)[0] < 1 << 24:
        return stacks[min(above)[1]][0]
    return thread_on(stacks, worker)


def stack_lines(frames, full):
    """`frames`: with text() and is_wefts()."""
    shown = [f for f in frames if full or not f.is_wefts()] or frames
    return ['  #%-2d %s' % (i, f.text()) for i, f in enumerate(frames) if f in shown]
