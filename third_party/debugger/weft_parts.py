# Parts of a scheduler: fibers, workers, and what waits or is queued.
from collections import namedtuple

from weft_root import Unreadable

# A Mutex or SharedMutex. Counters are plain addresses; so a lock is never taken for a counter.
Lock = namedtuple('Lock', 'address')


class Waiter:
    """A fiber or an external thread. `waits_for`: the address of a counter; 0 if it does not wait.
    For a wait for several counters that is not one of them: see Scheduler.waits_of."""

    KINDS = ('sleep', 'several', 'idle', 'call', 'operation')

    def __init__(self, fields, view):
        self.waits_for, self.target = view.u64('waitsFor'), view.u32('waitTarget')
        self.has_deadline = view.u64('deadline') != (1 << 64) - 1
        kind = view.u8('waitKind')
        self.kind = next((name for name in self.KINDS if fields['waitKind.' + name] == kind), '')
        self.lock = None  # that it waits for, if it is known


class Fiber(Waiter):
    """`state` is one of: running, blocked (it waits, and so does its thread), waiting, ready,
    pumping (in RunPinnedTasks), searching (a loop without a task), free, detached (of a thread that
    is not attached), switching."""

    def __init__(self, scheduler, index, view):
        memory = scheduler.memory
        super().__init__(scheduler.fields, view)
        self.scheduler, self.index = scheduler, index
        self.is_threads = index >= scheduler.fiber_count  # its stack is that of a thread
        self.handle = view.u64('handle')
        self.name = memory.text(view.u64('taskName'))
        self.counter = view.u64('taskCounter')
        self.pinned_to = view.u32('pinnedTo')
        self.bottom, self.bytes = view.u64('stackBottom'), view.u64('stackBytes')
        # The locks that its task holds. weft knows locks only with SchedulerOptions::lockHolders.
        held = view.all('heldLocks')
        self.held_locks = [Lock(address) for address in sorted(set(held)) if address]
        awaited = view.u64('awaitedLock')
        self.lock = Lock(awaited) if awaited else None
        self.state, self.worker = '', None
        # gdb's gcore writes zeros in place of some stacks: README.md.
        self.is_lost = self.handle != 0 and scheduler.root.is_lost(self.handle)
        # For each task that runs on top of a waiting one: the counter that it lowers.
        self.inlined = self._read_frames(view.u64('frames'))
        if self.is_lost:
            inlined = view.all('inlined') + [0]
            self.inlined = inlined[:inlined.index(0)]

    def id(self):
        return self.scheduler.prefix + str(self.index)

    def label(self):
        """The name of its innermost task."""
        return self.name or ('attached thread' if self.is_threads else 'unnamed')

    def text(self):
        return "fiber %s '%s'" % (self.id(), self.label())

    def name_text(self):
        """(+N): the task runs on top of N tasks that wait."""
        below = len(self.inlined)
        return self.label() + (' (+%d)' % below if below else '')

    def has_on_stack(self, address):
        return self.bottom <= address < self.bottom + self.bytes

    def is_pinned(self):
        return self.pinned_to != 0xffffffff and not self.is_threads

    def has_task(self):
        return self.state in ('running', 'blocked', 'waiting', 'ready', 'pumping', 'switching')

    def counters(self):
        """The counters that the tasks on this fiber lower when they end."""
        return [c for c in [self.counter] + self.inlined if c]

    def _read_frames(self, frame):
        counters, f, memory = [], self.scheduler.fields, self.scheduler.memory
        while frame and len(counters) < 1000:
            try:
                counters.append(memory.u64(frame + f['frame.counter']))
                frame = memory.u64(frame + f['frame.outer'])
            except Unreadable:
                break
        return counters

    def registers(self):
        if not self.handle or self.is_lost:
            return {}
        return self.scheduler.root.saved_registers(self.handle)


class Worker:
    RESTS = ('away', 'looks', 'sleeps')

    def __init__(self, scheduler, index, address):
        f = scheduler.fields
        self.scheduler, self.index, self.address = scheduler, index, address
        view = scheduler.root.view('worker', address)
        self.current = view.u64('current')
        self.thread = view.u64('thread')
        rest = view.u8('rest')
        self.rest = next((name for name in self.RESTS if f['rest.' + name] == rest), '')
        self.inactive = view.u32('levels') == 0
        self.restricted = view.u32('limit') < f['level.priorities']
        self.in_hook = view.u8('inHook') != 0
        self.finished = view.u64('finished')
        self.pump = view.u64('comesNext')
        self.claim = view.u64('claim')
        self.spare_fiber = view.u32('spareFiber')
        # Finished tasks for which a counter has not been lowered yet.
        units = view.u32('pending.units')
        self.pending = [(view.u64('pending.counter'), units - (units >> 31 << 32))]
        # The numbers of what lies in its queues: ready fibers, tasks by priority, pinned tasks. And
        # of the tasks that it has taken and not begun.
        self.ready, self.tasks, self.pinned, self.claimed = 0, [0, 0, 0], 0, 0
        self.fiber = None  # that it runs
        # The stack on which it sleeps, if that is one of weft's. Otherwise it is the thread's own.
        at = address + f['worker.threadFiber']
        self.bottom = scheduler.memory.u64(at + f['fiber.stackBottom'])
        self.bytes = scheduler.memory.u64(at + f['fiber.stackBytes'])

    def state(self):
        if self.rest == 'away':
            return 'without a thread'
        if self.fiber is None:
            return 'without a fiber'
        if self.fiber.state == 'blocked':
            return 'asleep in a wait'
        return {'looks': 'searching', 'sleeps': 'asleep'}.get(self.rest, 'running')


class Task:
    """Tasks of one name that have not begun. `where`: for example "queued on worker 1"."""

    def __init__(self, where, name, units, counter, waits=None):
        self.where, self.name, self.units, self.counter = where, name, units, counter
        self.waits = waits  # of a deferred one: (counter or None if that is unknown, target)

    def text(self):
        tasks = 'task' if self.units == 1 else '%d tasks' % self.units
        return "%s '%s' (%s)" % (tasks, self.name or 'unnamed', self.where)


class ExternalThread(Waiter):
    """A thread that waits for a counter, and that is no worker."""

    @staticmethod
    def text():
        return 'an external thread'
