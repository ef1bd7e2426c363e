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
import os
import re
import sys

import gdb
import gdb.unwinder

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import weft_model as model  # noqa: E402


class GdbMemory(model.Memory):
    def read(self, address, size):
        if size == 0:
            return b''
        try:
            return bytes(gdb.selected_inferior().read_memory(address, size))
        except (gdb.MemoryError, OverflowError, gdb.error) as error:
            raise model.Unreadable() from error

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
    if gdb.selected_inferior().pid == 0:
        raise gdb.GdbError('there is no process and no core dump')
    try:
        address = int(gdb.parse_and_eval('(unsigned long)&weft_debug_root'))
    except gdb.error:
        address = 0
    try:
        return model.Process(model.find_root(GdbMemory(), address, writable_sections()))
    except (model.NoRoot, model.Unreadable) as error:
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


class HideThread:
    """A frame filter: while a fiber is selected, `bt` does not show the frames of the thread."""

    def __init__(self):
        self.name, self.priority, self.enabled = 'weft fibers', 100, True
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        if UNWINDER.registers is None:
            return frames
        last = UNWINDER.last_of_thread().level()
        return (frame for frame in frames if frame.inferior_frame().level() > last)


HideThread()


class Frame:
    def __init__(self, frame):
        place = frame.find_sal()
        self.pc, self.level = frame.pc(), frame.level()
        self.name = frame.name() or (symbol_of(self.pc) or '??')
        self.file = place.symtab.filename if place.symtab else ''
        self.line = place.line

    def text(self):
        where = ' at %s:%d' % (os.path.basename(self.file), self.line) if self.file else ''
        return '0x%x in %s%s' % (self.pc, self.name, where)

    def is_wefts(self):
        name = self.name
        if name == 'operator()':  # a lambda: it belongs to the function that it is inlined into
            name = symbol_of(self.pc) or ''
        return name.startswith(('weft::internal::', 'weft::TaskScheduler::'))


def symbol_of(pc):
    name = GdbMemory().symbol(pc)
    return name.split('+')[0] if name else None


def walk(first, end_of_stack=None):
    """Returns the frames from `first` on, without what lies below a fiber's first function."""
    frames, frame = [], first
    try:
        while frame is not None and len(frames) < 1000:
            stack = frame.read_register('sp')
            if end_of_stack and int(stack) >= end_of_stack:
                break
            frames.append(Frame(frame))
            if re.search(r'FiberContext::Landing::Enter\b', frames[-1].name):
                break
            frame = frame.older()
    except gdb.error:
        pass
    while frames and (frames[-1].pc < 4096 or frames[-1].name in ('make_fcontext', '??') and
                      len(frames) > 1 and any(f.name != '??' for f in frames)):
        frames.pop()
    return frames


def frames_of(fiber):
    """Returns the frames of a fiber, and whether they are those of a thread that runs it."""
    if fiber.handle:
        try:
            return walk(UNWINDER.select(fiber), fiber.bottom + fiber.bytes)
        finally:
            UNWINDER.release()
    selected = gdb.selected_thread()
    frame = gdb.selected_frame()
    try:
        thread = thread_on(fiber)
        if thread is None:
            return []
        thread.switch()
        return walk(gdb.newest_frame())
    finally:
        selected.switch()
        frame.select()


def thread_on(fiber):
    """Returns the thread that runs on the stack of the fiber."""
    selected = gdb.selected_thread()
    try:
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            stack = int(gdb.newest_frame().read_register('sp'))
            if fiber.bottom <= stack < fiber.bottom + fiber.bytes:
                return thread
    finally:
        selected.switch()
    return thread_of(fiber.worker) if fiber.worker and fiber.bottom == 0 else None


def thread_of(worker):
    """Returns the thread of a worker, or None if it is not known: weft knows the threads that it
    has started, and the stack tells for those that run a fiber."""
    selected = gdb.selected_thread()
    try:
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            if worker.thread and worker.thread in (handle_of(thread), thread_pointer()):
                return thread
    finally:
        selected.switch()
    return thread_on(worker.fiber) if worker.fiber and worker.fiber.bottom else None


def handle_of(thread):
    try:
        return int.from_bytes(thread.handle(), 'little')
    except gdb.error:
        return None  # gdb has no libthread_db for the program


def thread_pointer():
    """The pthread_t of the selected thread, on x86-64."""
    try:
        return int(gdb.parse_and_eval('(unsigned long)$fs_base'))
    except gdb.error:
        return None


def name_of_thread(worker):
    thread = thread_of(worker)
    return '%d (LWP %d)' % (thread.num, thread.ptid[1]) if thread else ''


def print_frames(frames, full):
    shown = [f for f in frames if full or not f.is_wefts()]
    for i, frame in enumerate(frames):
        if frame in shown or not shown:
            print('  #%-2d %s' % (i, frame.text()))


class Weft(gdb.Command):
    """Fibers and workers of weft: weft fibers, bt, fiber, why, workers."""

    def __init__(self):
        super().__init__('weft', gdb.COMMAND_STACK, gdb.COMPLETE_NONE, True)


class Command(gdb.Command):
    def __init__(self, name):
        super().__init__('weft ' + name, gdb.COMMAND_STACK, gdb.COMPLETE_NONE)

    def invoke(self, argument, from_tty):
        try:
            self.run(argument.split())
        except (model.NoRoot, model.Unreadable) as error:
            raise gdb.GdbError(str(error) or 'the memory of weft cannot be read')


class Fibers(Command):
    """weft fibers [all]: the fibers that are in use. all: the free ones, too."""

    def run(self, words):
        UNWINDER.release()

        def place(fiber):
            frames = frames_of(fiber)
            outside = [f for f in frames if not f.is_wefts() and f.name != '??']
            return outside[0].name if outside else ''
        print('\n'.join(process().fibers_lines('all' in words, place)))


class Backtrace(Command):
    """weft bt N|all [full]: the stack of fiber N, or of all that have a task. full: with weft's own
    frames."""

    def run(self, words):
        UNWINDER.release()
        full = 'full' in words
        words = [word for word in words if word != 'full']
        if words and words[0] != 'all':
            fiber = process().fiber(words[0])
            print('%s, %s' % (fiber.text(), fiber.state))
            return print_frames(frames_of(fiber), full)
        stacks = {}
        for scheduler in process().schedulers:
            for fiber in scheduler.fibers:
                if fiber.has_task():
                    frames = frames_of(fiber)
                    key = (fiber.state, tuple(f.pc for f in frames if full or not f.is_wefts()))
                    stacks.setdefault(key, (frames, []))[1].append(fiber)
        for (state, _), (frames, fibers) in sorted(stacks.items(), key=lambda s: -len(s[1][1])):
            names = ', '.join("%s '%s'" % (f.id(), f.name or 'unnamed') for f in fibers[:16])
            print('%d fiber%s %s: %s%s' % (len(fibers), 's' * (len(fibers) > 1), state, names,
                                           ', ...' * (len(fibers) > 16)))
            print_frames(frames, full)


class SelectFiber(Command):
    """weft fiber N|off: shows the stack of fiber N in the selected thread, from frame 1 on."""

    def run(self, words):
        UNWINDER.release()
        if words in ([], ['off']):
            return
        fiber = process().fiber(words[0])
        if not fiber.handle:
            thread = thread_on(fiber)
            where = '; use thread %d' % thread.num if thread else ''
            raise gdb.GdbError('%s is %s%s' % (fiber.text(), fiber.state, where))
        if not fiber.registers():
            raise gdb.GdbError("the layout of this platform's saved registers is not known")
        frame = UNWINDER.select(fiber)
        while frame is not None and frame.older() is not None and Frame(frame).is_wefts():
            frame = frame.older()
        frame.select()
        print('%s, %s' % (fiber.text(), fiber.state))
        gdb.execute('frame')


class Why(Command):
    """weft why: which waits cannot end: cycles, then the waits that nobody ends, then the rest."""

    def run(self, words):
        print('\n'.join(process().why_lines()))


class Workers(Command):
    """weft workers: what each worker does, and what lies in its queues."""

    def run(self, words):
        UNWINDER.release()
        print('\n'.join(process().workers_lines(name_of_thread)))


Weft()
Fibers('fibers')
Backtrace('bt')
SelectFiber('fiber')
Why('why')
Workers('workers')
