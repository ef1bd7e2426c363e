# Parts of a scheduler: fibers, workers, and what waits or is queued.
from collections import namedtuple

from weft_root import Unreadable

# A Mutex or SharedMutex. Counters are plain addresses; so a lock is never taken for a counter.
Lock = namedtuple('Lock', 'address')


class Fiber:
    """`state` is one of: running, blocked (it waits, and so does its thread), waiting, ready,
    pumping (in RunPinnedTasks), searching (a loop without a task), free, detached (of a thread that
    is not attached), switching."""

    def __init__(self, scheduler, index, view):
        memory = scheduler.memory
        self.scheduler, self.index = scheduler, index
        self.handle = view.u64('handle')
        self.is_new = view.u8('isNew') != 0
        self.name = memory.text(view.u64('taskName'))
        self.counter = view.u64('taskCounter')
        self.carries = view.u64('carries')
        self.waits_for = view.u64('waitsFor')
        self.target = view.u32('waitTarget')
        self.waits_for_idle = view.u8('waitsForIdle') != 0
        self.pinned_to = view.u32('pinnedTo')
        self.bottom, self.bytes = view.u64('stackBottom'), view.u64('stackBytes')
        self.frames = view.u64('frames')
        self._read_locks(view)
        self.state, self.worker = '', None
        # gdb's gcore writes zeros in place of some stacks: README.md.
        self.is_lost = self.handle != 0 and scheduler.root.is_lost(self.handle)
        # Then the counter may be lost, too: that of a lock lies on the waiter's stack.
        self.is_lost_wait = self.is_lost and self.has_on_stack(self.waits_for) and \
            'fiber.isReady' in scheduler.fields and view.u8('isReady') == 0

    def _read_locks(self, view):
        """The locks that its task holds, and the one that it waits for, or None. weft knows them
        only with SchedulerOptions::lockHolders. Older versions of weft do not tell them."""
        self.held_locks, self.lock = [], None
        fields = self.scheduler.fields
        if 'fiber.awaitedLock' not in fields:
            return
        address = view.u64('awaitedLock')
        self.lock = Lock(address) if address else None
        for i in range(fields['fiber.heldLocksCount']):
            address = view.u64('heldLocks', i)
            if address and Lock(address) not in self.held_locks:
                self.held_locks.append(Lock(address))

    def id(self):
        return self.scheduler.prefix + str(self.index)

    def label(self):
        """The name of its innermost task."""
        is_threads = self.index >= self.scheduler.small + self.scheduler.large
        return self.name or ('attached thread' if is_threads else 'unnamed')

    def text(self):
        return "fiber %s '%s'" % (self.id(), self.label())

    def name_text(self):
        """(+N): the task runs on top of N tasks that wait."""
        below = len(self._frames())
        return self.label() + (' (+%d)' % below if below else '')

    def has_on_stack(self, address):
        return self.bottom <= address < self.bottom + self.bytes

    def is_pinned(self):
        own_stack = self.index >= self.scheduler.small + self.scheduler.large
        return self.pinned_to != 0xffffffff and not own_stack

    def has_task(self):
        return self.state in ('running', 'blocked', 'waiting', 'ready', 'pumping', 'switching')

    def counters(self):
        """The counters that the tasks on this fiber lower when they end."""
        return [c for c in [self.counter, self.carries] + self._frames() if c]

    def _frames(self):
        """For each task that runs on top of a waiting one: the counter that it lowers."""
        counters, frame, first = [], 0 if self.is_lost else self.frames, True
        f, memory = self.scheduler.fields, self.scheduler.memory
        while frame and len(counters) < 1000:
            try:
                counter = memory.u64(frame + f['frame.counter'])
                frame = memory.u64(frame + f['frame.outer'])
            except Unreadable:
                break
            # Nothing runs on top of the frame of the wait that the fiber is in.
            if not (first and counter == self.waits_for):
                counters.append(counter)
            first = False
        return counters

    def registers(self):
        if not self.handle or self.is_lost:
            return {}
        return self.scheduler.root.saved_registers(self.handle)


class Worker:
    def __init__(self, scheduler, index, address):
        self.scheduler, self.index, self.address = scheduler, index, address
        view = scheduler.root.view('worker', address)
        self.current = view.u64('current')
        self.thread = view.u64('thread')
        self.searching = view.u8('searching') != 0
        self.inactive = view.u8('inactive') != 0
        self.in_hook = view.u8('inHook') != 0
        self.restricted = view.u8('restricted') != 0
        self.finished = view.u64('finished')
        self.pump = view.u64('pump')
        self.claimed = view.u64('claim.end') - view.u64('claim.next')
        self.claimed = max(0, self.claimed) // scheduler.fields['task.size']
        self.claim_counter = view.u64('claim.counter')
        self.claim_name = view.u64('claim.name')
        self.pending_counter = view.u64('pending.counter')
        units = view.u32('pending.units')
        self.pending_units = units if units < 1 << 31 else units - (1 << 32)
        self.sleeps = None  # how, see Scheduler.SLEEPS
        self.ready = 0      # number of ready fibers in its queues
        self.tasks = [0, 0, 0]  # number of tasks in its lanes, by priority
        self.pinned = 0     # number of pinned tasks
        self.fiber = None   # that it runs
        # The stack on which it sleeps, if that is one of weft's. Otherwise it is the thread's own.
        f, at = scheduler.fields, address + scheduler.fields['worker.threadFiber']
        self.bottom = scheduler.memory.u64(at + f['fiber.stackBottom'])
        self.bytes = scheduler.memory.u64(at + f['fiber.stackBytes'])


class Task:
    """Tasks of one name that have not begun. `where`: for example "queued on worker 1"."""

    def __init__(self, where, name, units, counter, waits_for=None):
        self.where, self.name, self.units, self.counter = where, name, units, counter
        self.waits_for = waits_for  # of a deferred one: (counter, target), if that is known

    def text(self):
        tasks = 'task' if self.units == 1 else '%d tasks' % self.units
        return "%s '%s' (%s)" % (tasks, self.name or 'unnamed', self.where)


class ExternalThread:
    """A thread that waits for a counter, and that is no worker."""

    def __init__(self, counter):
        self.waits_for, self.target, self.waits_for_idle = counter, 0, False
        self.lock = None  # not known

    def text(self):
        return 'an external thread'


class AnyWait:
    """A wait for the first of several counters, or with a deadline. `waits`: (counter, target)."""

    def __init__(self, waits, has_deadline):
        self.waits, self.has_deadline = waits, has_deadline
