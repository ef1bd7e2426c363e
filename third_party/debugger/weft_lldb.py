# Commands of lldb for programs that use weft. README.md has an example.
#
#     (lldb) command script import third_party/debugger/weft_lldb.py
#
#     weft fibers [all]       the fibers that are in use: state, task, what they wait for
#     weft bt N|all [full]    the stack of a fiber, or of all; equal stacks once. full: with weft's
#                             own frames
#     weft fiber N            selects the thread that stands for fiber N
#     weft why                which waits cannot end, and why
#     weft workers            what each worker does
#     weft threads on|off     on: each suspended fiber is a thread of lldb
#
# The first command switches `threads on`, unless you have switched them off. Then `thread list`,
# `thread backtrace all` and `thread select` know the fibers, too. The commands need them to
# show stacks of suspended fibers. Give a command again after another `run` or `attach`: lldb asks
# for the fibers only if the setting target.process.python-os-plugin-path is set while there is a
# process.
#
# They only read memory, so they work on a core dump, too. They need weft_debug_root and no debug
# information of weft. Written for lldb 14.
import os
import shlex
import struct
import sys

import lldb

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # no files in the source tree
import weft_commands  # noqa: E402
import weft_frames  # noqa: E402
import weft_root  # noqa: E402
sys.dont_write_bytecode = writes

SETTING = 'target.process.python-os-plugin-path'


class LldbMemory(weft_root.Memory):
    def __init__(self, process):
        self.process, self.target = process, process.GetTarget()

    def read(self, address, size):
        if size == 0:
            return b''
        error = lldb.SBError()
        data = self.process.ReadMemory(address, size, error)
        if not error.Success() or data is None or len(data) != size:
            return self._read_file(address, size)
        return bytes(data)

    def _read_file(self, address, size):
        """A core dump has no constants. The file of the program has them."""
        for _, section, begin in loaded_sections(self.target):
            if begin <= address < begin + section.GetByteSize():
                error = lldb.SBError()
                data = section.GetSectionData(address - begin, size).ReadRawData(error, 0, size)
                if error.Success() and data is not None and len(data) == size:
                    return bytes(data)
        raise weft_root.Unreadable()

    def symbol(self, address):
        for module, section, begin in loaded_sections(self.target):
            if begin <= address < begin + section.GetByteSize():
                # ResolveLoadAddress of lldb 14 knows only code.
                place = module.ResolveFileAddress(section.GetFileAddress() + address - begin)
                break
        else:
            return None
        symbol = place.GetSymbol()
        if not symbol.IsValid() or symbol.GetName() is None:
            return None
        offset = place.GetFileAddress() - symbol.GetStartAddress().GetFileAddress()
        name = symbol.GetDisplayName() or symbol.GetName()
        return '%s+%d' % (name, offset) if offset else name


def loaded_sections(target):
    """(module, section, address) of all sections that have no parts."""
    for module in target.module_iter():
        for section in module.section_iter():
            parts = [section.GetSubSectionAtIndex(i) for i in range(section.GetNumSubSections())]
            for part in parts or [section]:
                address = part.GetLoadAddress(target)
                if address != lldb.LLDB_INVALID_ADDRESS:
                    yield module, part, address


def writable_sections(target):
    for _, section, address in loaded_sections(target):
        if (section.GetName() or '').startswith('.data'):
            yield address, section.GetByteSize()


def read_process(process):
    memory = LldbMemory(process)
    address = 0
    for found in memory.target.FindSymbols('weft_debug_root'):
        loaded = found.GetSymbol().GetStartAddress().GetLoadAddress(memory.target)
        if loaded != lldb.LLDB_INVALID_ADDRESS:
            address = loaded
    root = weft_root.find_root(memory, address, writable_sections(memory.target))
    return weft_commands.Process(root)


# ---- fibers as threads ----

# Far from the ids of real threads. Bits 32 and up: the scheduler.
FIRST_ID = 0x77656674 << 32


def id_of(fiber):
    number = int(fiber.scheduler.prefix.rstrip('.') or 0)
    return FIRST_ID + (number << 24) + fiber.index


class Registers:
    """The registers of a processor, as lldb wants them."""

    def __init__(self, names, dwarf, generic):
        self.names = names
        self.info = {'sets': ['General'], 'registers': []}
        for i, name in enumerate(names):
            register = {'name': name, 'bitsize': 64, 'offset': 8 * i, 'encoding': 'uint',
                        'format': 'hex', 'set': 0, 'gcc': dwarf[i], 'dwarf': dwarf[i]}
            if name in generic:
                register['generic'] = generic[name]
            self.info['registers'].append(register)

    def pack(self, values):
        return struct.pack('<%dQ' % len(self.names), *[values.get(n, 0) for n in self.names])


X86_64 = Registers(
    ['rax', 'rdx', 'rcx', 'rbx', 'rsi', 'rdi', 'rbp', 'rsp', 'r8', 'r9', 'r10', 'r11', 'r12', 'r13',
     'r14', 'r15', 'rip', 'rflags'], list(range(17)) + [49],
    {'rip': 'pc', 'rsp': 'sp', 'rbp': 'fp', 'rflags': 'flags'})
AARCH64 = Registers(
    ['x%d' % i for i in range(31)] + ['sp', 'pc', 'cpsr'], list(range(34)),
    {'pc': 'pc', 'sp': 'sp', 'x29': 'fp', 'x30': 'lr', 'cpsr': 'flags'})


class OperatingSystemPlugIn:
    """lldb makes one object of this class for a process, and asks it for threads at each stop."""

    def __init__(self, process, *rest):
        self.process = process
        self.registers_of = {}

    def create_thread(self, tid, context):
        return None

    def get_thread_info(self):
        self.registers_of, threads = {}, []
        try:
            found = read_process(self.process)
        except (weft_root.NoRoot, weft_root.Unreadable):
            return []
        for scheduler in found.schedulers:
            for fiber in scheduler.fibers:
                registers = fiber.registers() if fiber.has_task() else {}
                if registers:
                    self.registers_of[id_of(fiber)] = registers
                    threads.append({'tid': id_of(fiber), 'name': fiber.text(), 'state': 'stopped',
                                    'queue': fiber.state, 'stop_reason': 'none'})
        return threads

    def get_register_info(self):
        return self._processor().info

    def get_register_data(self, tid):
        values = self.registers_of.get(tid)
        return self._processor().pack(values) if values else None

    def _processor(self):
        triple = self.process.GetTarget().GetTriple() or ''
        return AARCH64 if triple.startswith(('aarch64', 'arm64')) else X86_64


# ---- commands ----

class Frame(weft_frames.AnyFrame):
    def __init__(self, frame):
        line, module = frame.GetLineEntry(), frame.GetModule()
        self.pc = frame.GetPC()
        self.name = weft_frames.short_name(frame.GetFunctionName())
        if self.name.startswith('___lldb_unnamed_symbol'):
            self.name = ''
        self.symbol = frame.GetSymbol().GetName() or ''
        self.is_inlined = frame.IsInlined()
        self.file, self.line = line.GetFileSpec().GetFilename(), line.GetLine()
        if module.IsValid():
            self.place = '%s+0x%x' % (module.GetFileSpec().GetFilename(),
                                      frame.GetPCAddress().GetFileAddress())


def frames_of(fiber, process):
    thread = thread_of(fiber, process)
    frames = []
    for frame in thread.frames if thread else []:
        if frame.GetFunctionName() == 'make_fcontext' or frame.GetPC() < 4096 or \
                fiber.bottom and fiber.handle and frame.GetSP() >= fiber.bottom + fiber.bytes:
            break
        frames.append(Frame(frame))
    return frames


def stacks_of(process):
    return [(thread, thread.GetFrameAtIndex(0).GetSP()) for thread in process.threads
            if thread.GetThreadID() < FIRST_ID]


def thread_of(fiber, process):
    """Returns the thread that stands for the fiber, or that runs it."""
    if fiber.handle:
        thread = process.GetThreadByID(id_of(fiber))
        return thread if thread.IsValid() else None
    if fiber.bottom:
        return weft_frames.thread_on(stacks_of(process), fiber)
    return weft_frames.thread_of(stacks_of(process), fiber.worker) if fiber.worker else None


def switch_threads(debugger, on):
    path = os.path.realpath(__file__) if on else ''
    debugger.HandleCommand('settings set %s "%s"' % (SETTING, path) if on
                           else 'settings clear ' + SETTING)


def select(fiber, process):
    thread = thread_of(fiber, process)
    if thread is None:
        raise weft_root.NoRoot('%s has no thread: `weft threads on`' % fiber.text())
    frames = [Frame(frame) for frame in thread.frames]
    index = next((i for i, frame in enumerate(frames) if not frame.is_wefts()), 0)
    process.SetSelectedThread(thread)
    thread.SetSelectedFrame(index)
    return ['%s, %s: thread %d' % (fiber.text(), fiber.state, thread.GetIndexID()),
            'frame #%d: %s' % (index, frames[index].text())]


def run(words, debugger):
    process = debugger.GetSelectedTarget().GetProcess()
    if not process.IsValid() or process.GetState() == lldb.eStateExited:
        raise weft_root.NoRoot('there is no process and no core dump')
    command, arguments = words[0] if words else 'help', words[1:]
    if command == 'threads' and arguments in (['on'], ['off']):
        lldb.weft_threads = arguments == ['on']
        switch_threads(debugger, lldb.weft_threads)
        return []
    wanted = lldb.__dict__.get('weft_threads', True)  # until the user says otherwise
    if wanted and not debugger.GetInternalVariableValue(
            SETTING, debugger.GetInstanceName()).GetSize():
        switch_threads(debugger, True)

    place = weft_frames.places(lambda fiber: frames_of(fiber, process))
    if command == 'fibers':
        return read_process(process).fibers_lines('all' in arguments, place)
    if command == 'bt':
        full = 'full' in arguments
        arguments = [a for a in arguments if a not in ('full', 'all')]
        found = read_process(process)
        if not arguments:
            return found.stacks_lines(lambda fiber: frames_of(fiber, process),
                                      weft_frames.stack_lines, full)
        fiber = found.fiber(arguments[0])
        return ['%s, %s' % (fiber.text(), fiber.state)] + weft_frames.stack_lines(
            frames_of(fiber, process), full)
    if command == 'fiber' and arguments:
        return select(read_process(process).fiber(arguments[0]), process)
    if command == 'why':
        return read_process(process).why_lines(place)
    if command == 'workers':
        def name(worker):
            thread = weft_frames.thread_of(stacks_of(process), worker)
            return '%d (tid %d)' % (thread.GetIndexID(), thread.GetThreadID()) if thread else ''
        return read_process(process).workers_lines(name)
    raise weft_root.NoRoot('weft fibers [all] | bt N|all [full] | fiber N | why | workers | '
                       'threads on|off')


def weft(debugger, command, result, internal_dict):
    """Fibers and workers of weft: weft fibers, bt, fiber, why, workers, threads."""
    try:
        lines = run(shlex.split(command), debugger)
        if lines:
            result.PutCString('\n'.join(lines))
    except (weft_root.NoRoot, weft_root.Unreadable) as error:
        result.SetError(str(error) or 'the memory of weft cannot be read')


def __lldb_init_module(debugger, internal_dict):
    # lldb calls this again when it loads the file for the threads. That happens inside a command
    # `weft`, and lldb 14 crashes if a command is replaced while it runs.
    known = lldb.__dict__.setdefault('weft_debuggers', set())
    if debugger.GetID() not in known:
        known.add(debugger.GetID())
        debugger.HandleCommand('command script add -f %s.weft weft' % __name__)
