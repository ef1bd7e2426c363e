# Commands of gdb for programs that use weft. README.md has an example.
#
#     (gdb) source third_party/debugger/weft_gdb.py
#
#     weft fibers [all]       the fibers that are in use: state, task, what they wait for
#     weft bt N|all [full]    the stack of a fiber, or of all; equal stacks once. full: with weft's
#                             own frames
#     weft fiber N|off        makes the stack of fiber N that of the selected thread: bt, up, frame,
#                             info locals, until `weft fiber off` or until the program runs
#     weft why                which waits cannot end, and why
#     weft workers            what each worker does
#
# They only read memory, so they work on a core dump, too. They need weft_debug_root and no debug
# information of weft. Written for gdb 13.
import functools
import os
import re
import sys

import gdb
import gdb.unwinder
from gdb.FrameDecorator import FrameDecorator

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # no files in the source tree
import weft_commands  # noqa: E402
import weft_frames  # noqa: E402
import weft_root  # noqa: E402
sys.dont_write_bytecode = writes


class GdbMemory(weft_root.Memory):
    def read(self, address, size):
        if size == 0:
            return b''
        try:
            return bytes(gdb.selected_inferior().read_memory(address, size))
        except (gdb.MemoryError, OverflowError, gdb.error) as error:
            raise weft_root.Unreadable() from error

    def symbol(self, address):
        text = gdb.execute('info symbol 0x%x' % address, to_string=True)
        found = re.match(r'(.*?)(?: \+ (\d+))? in section', text)
        if not found:
            return None
        return found.group(1) + ('+%s' % found.group(2) if found.group(2) else '')


def writable_sections():
    """The writable sections of the program and its libraries."""
    lines = gdb.execute('info files', to_string=True)
    for begin, end, name in re.findall(r'(0x[0-9a-f]+) - (0x[0-9a-f]+) is (\S+)', lines):
        if name.startswith('.data'):
            yield int(begin, 16), int(end, 16) - int(begin, 16)


def process():
    try:
        address = int(gdb.parse_and_eval('(unsigned long)&weft_debug_root'))
    except gdb.error:
        address = 0
    try:
        return weft_commands.Process(weft_root.find_root(GdbMemory(), address, writable_sections()))
    except (weft_root.NoRoot, weft_root.Unreadable) as error:
        raise gdb.GdbError(str(error) or 'the memory of weft cannot be read')


class FiberUnwinder(gdb.unwinder.Unwinder):
    """While a fiber is selected, the caller of the innermost function of the selected thread is the
    innermost frame of the fiber. Frame 0, and those that are inlined into the same function, stay
    what they are: gdb reads them from the thread."""

    def __init__(self):
        super().__init__('weft fibers')
        self.registers = None  # of the selected fiber
        self.thread, self.stack = None, None  # the selected thread, and its stack pointer

    def __call__(self, frame):
        if self.registers is None or int(frame.read_register('sp')) != self.stack:
            return None
        thread = gdb.selected_thread()
        if thread is None or thread.ptid != self.thread:
            return None
        word = gdb.lookup_type('unsigned long')
        stack = self.registers['rsp' if 'rsp' in self.registers else 'sp']

        class FrameId:
            sp = gdb.Value(stack - 16).cast(word)
            pc = gdb.Value(self.registers['rip' if 'rip' in self.registers else 'pc']).cast(word)
        unwound = frame.create_unwind_info(FrameId())
        for name, value in self.registers.items():
            kind = frame.read_register(name).type
            unwound.add_saved_register(name, gdb.Value(value).cast(word).cast(kind))
        return unwound

    def select(self, fiber):
        """Returns the innermost frame of the fiber."""
        self.release()
        self.thread = gdb.selected_thread().ptid
        self.stack = int(gdb.newest_frame().read_register('sp'))
        self.registers = fiber.registers()
        gdb.invalidate_cached_frames()
        return self.last_of_thread().older()

    @staticmethod
    def last_of_thread():
        frame = gdb.newest_frame()
        while frame.type() == gdb.INLINE_FRAME:
            frame = frame.older()
        return frame

    def release(self):
        if self.registers is not None:
            self.registers = None
            gdb.invalidate_cached_frames()


UNWINDER = FiberUnwinder()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)
gdb.events.cont.connect(lambda event: UNWINDER.release())


class FiberFrames:
    """A frame filter: while a fiber is selected, `bt` shows neither the frames of the thread nor
    what lies below the first function of the fiber."""

    def __init__(self):
        self.name, self.priority, self.enabled = 'weft fibers', 100, True
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        return frames if UNWINDER.registers is None else self._of_fiber(frames)

    @staticmethod
    def _of_fiber(frames):
        last = UNWINDER.last_of_thread().level()
        for frame in frames:
            inner = frame.inferior_frame()
            if inner.name() == 'make_fcontext' or inner.pc() < 4096:
                return
            if inner.level() > last:
                yield FiberFrame(frame)


class FiberFrame(FrameDecorator):
    def function(self):
        return super().function() or '??'


FiberFrames()


class Frame(weft_frames.AnyFrame):
    def __init__(self, frame):
        place = frame.find_sal()
        self.pc = frame.pc()
        self.symbol = symbol_of(self.pc)
        self.name = weft_frames.short_name(frame.name()) or self.symbol
        self.is_inlined = frame.type() == gdb.INLINE_FRAME
        self.file = os.path.basename(place.symtab.filename) if place.symtab else ''
        self.line = place.line
        self.place = '' if self.name else place_in_file(self.pc)


@functools.lru_cache(maxsize=None)  # until the next command
def symbol_of(pc):
    found = re.match(r'(.*?)(?: \+ \d+)? in section',
                     gdb.execute('info symbol 0x%x' % pc, to_string=True))
    return weft_frames.short_name(found.group(1)) if found else ''


def place_in_file(pc):
    """Returns FILE+OFFSET, for addr2line and other tools. Only for the program itself."""
    program = gdb.current_progspace().filename
    library = gdb.solib_name(pc)
    if library or not program:
        return os.path.basename(library or '??')
    entry = re.search(r'Entry point: (0x[0-9a-f]+)', gdb.execute('info files', to_string=True))
    try:
        with open(program, 'rb') as file:
            base = int(entry.group(1), 16) - int.from_bytes(file.read(32)[24:32], 'little')
    except (OSError, AttributeError):
        return '??'
    return '%s+0x%x' % (os.path.basename(program), pc - base)


def walk(frame, end_of_stack=None):
    """Returns the frames from `frame` on, without what lies below a fiber's first function."""
    frames = []
    try:
        while frame is not None and len(frames) < 1000:
            if end_of_stack and int(frame.read_register('sp')) >= end_of_stack:
                break
            frames.append(Frame(frame))
            if re.search(r'FiberContext::Landing::Enter\b', frames[-1].name):
                break
            frame = frame.older()
    except gdb.error:
        pass  # gdb cannot unwind further
    while frames and (frames[-1].pc < 4096 or frames[-1].name == 'make_fcontext'):
        frames.pop()
    return frames


def stacks_of_threads():
    """Returns (thread, stack pointer) for all threads."""
    stacks = []
    selected, frame = gdb.selected_thread(), gdb.selected_frame()
    try:
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            stacks.append((thread, int(gdb.newest_frame().read_register('sp'))))
    finally:
        selected.switch()
        frame.select()
    return stacks


def thread_of(fiber, stacks):
    """Returns the thread that runs the fiber, or None."""
    if fiber.handle:
        return None
    if fiber.bottom:
        return weft_frames.thread_on(stacks, fiber)
    return weft_frames.thread_of(stacks, fiber.worker) if fiber.worker else None


def frames_of(fiber, stacks):
    if fiber.registers():
        try:
            return walk(UNWINDER.select(fiber), fiber.bottom + fiber.bytes)
        finally:
            UNWINDER.release()
    thread = thread_of(fiber, stacks)
    if thread is None:
        return []
    selected, frame = gdb.selected_thread(), gdb.selected_frame()
    try:
        thread.switch()
        return walk(gdb.newest_frame())
    finally:
        selected.switch()
        frame.select()


def places():
    stacks = stacks_of_threads()
    return weft_frames.places(lambda fiber: frames_of(fiber, stacks))


class Weft(gdb.Command):
    """Fibers and workers of weft: weft fibers, bt, fiber, why, workers."""

    def __init__(self):
        super().__init__('weft', gdb.COMMAND_STACK, gdb.COMPLETE_NONE, True)


class Command(gdb.Command):
    def __init__(self, name):
        super().__init__('weft ' + name, gdb.COMMAND_STACK, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        UNWINDER.release()
        symbol_of.cache_clear()
        if gdb.selected_thread() is None:
            raise gdb.GdbError('there is no process and no core dump')
        try:
            print('\n'.join(self.run(argument.split())))
        except (weft_root.NoRoot, weft_root.Unreadable) as error:
            raise gdb.GdbError(str(error) or 'the memory of weft cannot be read')


class Fibers(Command):
    """weft fibers [all]: the fibers that are in use. all: the free ones, too."""

    def run(self, words):
        return process().fibers_lines('all' in words, places())


class Backtrace(Command):
    """weft bt N|all [full]: the stack of fiber N, or of all that have a task. full: with weft's own
    frames."""

    def run(self, words):
        full, stacks = 'full' in words, stacks_of_threads()
        words = [word for word in words if word not in ('full', 'all')]
        if not words:
            return process().stacks_lines(lambda fiber: frames_of(fiber, stacks),
                                          weft_frames.stack_lines, full)
        fiber = process().fiber(words[0])
        return ['%s, %s' % (fiber.text(), fiber.state)] + weft_frames.stack_lines(
            frames_of(fiber, stacks), full)


class SelectFiber(Command):
    """weft fiber N|off: shows the stack of fiber N in place of that of the selected thread."""

    def run(self, words):
        if words in ([], ['off']):
            return []
        fiber = process().fiber(words[0])
        if not fiber.handle:
            thread = thread_of(fiber, stacks_of_threads())
            where = '; use thread %d' % thread.num if thread else ''
            raise gdb.GdbError('%s is %s%s' % (fiber.text(), fiber.state, where))
        if not fiber.registers():
            raise gdb.GdbError('the registers of %s are not known' % fiber.text())
        frame = UNWINDER.select(fiber)
        while frame.older() is not None and Frame(frame).is_wefts():
            frame = frame.older()
        frame.select()
        print('%s, %s' % (fiber.text(), fiber.state))
        gdb.execute('frame')
        return []


class Why(Command):
    """weft why: which waits cannot end: cycles, then the waits that nobody ends, then the rest."""

    def run(self, words):
        return process().why_lines(places())


class Workers(Command):
    """weft workers: what each worker does, and what lies in its queues."""

    def run(self, words):
        stacks = stacks_of_threads()

        def name(worker):
            thread = weft_frames.thread_of(stacks, worker)
            return '%d (LWP %d)' % (thread.num, thread.ptid[1]) if thread else ''
        return process().workers_lines(name)


Weft()
Fibers('fibers')
Backtrace('bt')
SelectFiber('fiber')
Why('why')
Workers('workers')
