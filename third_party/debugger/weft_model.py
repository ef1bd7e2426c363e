# Reads the schedulers of a stopped process, or of a core dump, by weft_debug_root. See
# source/scheduler/state/debug_root.h. Knows neither gdb nor lldb: weft_gdb.py and weft_lldb.py give
# it a Memory, and print its lines.
import bisect
import re
import struct

MAGIC = b'weft debug root\0'
VERSION = 1


class Unreadable(Exception):
    """The memory is not there."""


class NoRoot(Exception):
    """The program has no weft_debug_root, or one of another version. The text is for the user."""


class Memory:
    """The memory of the process. A front end implements read and symbol."""

    def read(self, address, size):
        """Returns bytes, or raises Unreadable."""
        raise NotImplementedError

    def symbol(self, address):
        """Returns the name of the variable or function at the address, or None."""
        raise NotImplementedError

    def number(self, address, size):
        return int.from_bytes(self.read(address, size), 'little')

    def u8(self, address):
        return self.number(address, 1)

    def u16(self, address):
        return self.number(address, 2)

    def u32(self, address):
        return self.number(address, 4)

    def u64(self, address):
        return self.number(address, 8)

    def text(self, address, most=128):
        """Returns the C string, or None for a null pointer."""
        if address == 0:
            return None
        text, size = b'', 32
        while len(text) < most and b'\0' not in text:
            # Byte by byte near the end of what can be read.
            try:
                text += self.read(address + len(text), size)
            except Unreadable:
                if size == 1:
                    break
                size = 1
        return text.split(b'\0')[0][:most].decode('utf-8', 'replace') if text else '?'


class View:
    """A copy of an object whose members are known by name."""

    def __init__(self, fields, prefix, data):
        self.fields, self.prefix, self.data = fields, prefix, data

    def number(self, name, size):
        at = self.fields[self.prefix + name]
        return int.from_bytes(self.data[at:at + size], 'little')

    def u8(self, name):
        return self.number(name, 1)

    def u32(self, name):
        return self.number(name, 4)

    def u64(self, name):
        return self.number(name, 8)


class Root:
    """weft_debug_root. `fields` has all offsets, sizes and numbers by name."""

    def __init__(self, memory, address):
        self.memory, self.address = memory, address
        head = memory.read(address, 96)
        if head[:16] != MAGIC or struct.unpack_from('<Q', head, 24)[0] != address:
            raise NoRoot('there is no weft_debug_root at 0x%x' % address)
        self.version, pointer_bytes = struct.unpack_from('<II', head, 16)
        if self.version != VERSION or pointer_bytes != 8:
            raise NoRoot('weft_debug_root has version %d with pointers of %d bytes; '
                         'these commands know version %d with 8' %
                         (self.version, pointer_bytes, VERSION))
        (self.record_bytes, count, fields, layout, registers, register_count, entry_count,
         entries) = struct.unpack_from('<IIQQQIIQ', head, 48)
        self.fields = dict(self._records(fields, count))
        (self.layout, self.boost), = self._records(layout, 1)
        registers = self._records(registers, register_count)
        # The stack pointer is a distance from the handle, the others lie at such a distance.
        self.stack_pointer, self.registers = registers[0], registers[1:]
        size, at = self.fields['tag.size'], self.fields['tag.scheduler']
        table = memory.read(entries, size * entry_count)
        self.schedulers = [s for i in range(entry_count)
                           for s in struct.unpack_from('<Q', table, i * size + at) if s]

    def _records(self, address, count):
        data = self.memory.read(address, self.record_bytes * count)
        records = []
        for i in range(count):
            record = data[i * self.record_bytes:(i + 1) * self.record_bytes]
            records.append((record[:32].split(b'\0')[0].decode(),
                            struct.unpack_from('<Q', record, 32)[0]))
        return records

    def view(self, prefix, address):
        return View(self.fields, prefix + '.',
                    self.memory.read(address, self.fields[prefix + '.size']))

    def saved_registers(self, handle):
        """Returns the registers of a suspended context by name; empty if the layout is unknown."""
        name, distance = self.stack_pointer
        if not name:
            return {}
        values = {name: handle + distance}
        for name, at in self.registers:
            values[name] = self.memory.u64(handle + at)
        return values


def find_root(memory, address_of_symbol, sections):
    """Returns the Root. `sections`: (address, bytes) of the writable sections of the program and
    its libraries, for a program without symbols."""
    if address_of_symbol:
        return Root(memory, address_of_symbol)
    for address, size in sections:
        for at in _find(memory, address, size, MAGIC):
            try:
                return Root(memory, at)
            except (NoRoot, Unreadable):
                pass
    raise NoRoot('there is no weft_debug_root: the program does not use weft, or has not begun')


def _find(memory, address, size, wanted):
    step = 1 << 20
    for begin in range(0, size, step):
        try:
            data = memory.read(address + begin, min(step + len(wanted), size - begin))
        except Unreadable:
            continue
        at = data.find(wanted)
        while at >= 0:
            yield address + begin + at
            at = data.find(wanted, at + 1)


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
        self.priority = view.u8('level') % scheduler.fields['level.set']
        self.bottom, self.bytes = view.u64('stackBottom'), view.u64('stackBytes')
        self.frames = view.u64('frames')
        self.state, self.worker = '', None
        # gdb's gcore writes zeros in place of some stacks: README.md.
        self.is_lost = False
        if self.handle:
            try:
                self.is_lost = memory.u64(self.handle) == 0
            except Unreadable:
                self.is_lost = True

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
        self.group = view.u8('group')
        self.submitted, self.finished = view.u64('submitted'), view.u64('finished')
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
    def __init__(self, scheduler, index, counter):
        self.index, self.waits_for = index, counter

    def text(self):
        return 'an external thread'


class AnyWait:
    """A wait for the first of several counters, or with a deadline. `waits`: (counter, target)."""

    def __init__(self, waits, has_deadline):
        self.waits, self.has_deadline = waits, has_deadline


class Scheduler:
    SLEEPS = (('asleep', 'asleep'), ('starvedAsleep', 'asleep without a fiber'),
              ('restrictedAsleep', 'asleep in a wait'), ('ownAsleep', 'asleep in a wait'),
              ('namedAsleep', 'asleep, runs only pinned work'))

    def __init__(self, root, address, prefix):
        self.root, self.address, self.prefix = root, address, prefix
        self.memory, self.fields = root.memory, root.fields
        self.errors = []
        u32, u64, f = self._u32, self._u64, self.fields
        self.small, self.large = u32('smallFibers'), u32('largeFibers')
        self.worker_count, self.slots = u32('workerCount'), u32('slotCount')
        outside = u64('taskScheduler') + f['taskScheduler.outside']
        self.external_work = self.memory.u32(outside)
        self.deferred_count = u32('deferred')
        self.tasks = []  # Task
        self._lists = {}
        self.ready, self.any_waits, self.timer_owners, self.external = set(), {}, set(), []
        self.deferred_unknown = 0
        self._read_fibers()
        self._read_workers()
        # A minidump need not have the rest.
        self._try(self._read_any_waits, 'waits with deadlines')
        self._try(self._read_queues, 'queues')
        self._try(self._set_states, 'free fibers')
        self._try(self._read_timed, 'tasks for later')
        self._try(self._read_external, 'external threads')
        self._try(self._read_deferred, 'deferred tasks')
        self._index_lowerers()

    def _try(self, read, what):
        try:
            read()
        except Unreadable:
            text = 'cannot be read: ' + what
            if text not in self.errors:
                self.errors.append(text)

    def _u32(self, name):
        return self.memory.u32(self.address + self.fields['scheduler.' + name])

    def _u64(self, name):
        return self.memory.u64(self.address + self.fields['scheduler.' + name])

    # ---- reading ----

    def _read_fibers(self):
        size, count = self.fields['fiber.size'], self.small + self.large + self.slots - self.worker_count
        self.fibers, begin = [], self._u64('fibers')
        self.fibers_at = begin
        for first in range(0, count, 256):
            some = min(256, count - first)
            data = self.memory.read(begin + first * size, some * size)
            for i in range(some):
                view = View(self.fields, 'fiber.', data[i * size:(i + 1) * size])
                self.fibers.append(Fiber(self, first + i, view))
        self.stacks = sorted((fiber.bottom, fiber.index) for fiber in self.fibers if fiber.bottom)

    def fiber_at(self, address):
        index, rest = divmod(address - self.fibers_at, self.fields['fiber.size'])
        return self.fibers[index] if rest == 0 and 0 <= index < len(self.fibers) else None

    def _bits(self, name, count):
        """Returns the indices of the bits that are set."""
        words, size = self._u64(name), self.fields['bits.wordSize']
        found = set()
        for word in range((count + 63) // 64):
            bits = self.memory.u64(words + word * size)
            found.update(i for i in range(word * 64, min(count, word * 64 + 64))
                         if bits >> (i % 64) & 1)
        return found

    def _free_fibers(self):
        f = self.fields
        free = self._bits('freeSmall', self.small)
        free.update(self.small + i for i in self._bits('freeLarge', self.large))
        caches = self._u64('caches')
        for i in range(self.worker_count if caches else 0):
            cache = self.memory.read(caches + i * f['cache.size'], 4 * f['cache.slots'])
            free.update(n - 1 for n in struct.unpack('<%dI' % f['cache.slots'], cache) if n)
        return free

    def _read_workers(self):
        begin, size = self._u64('workers'), self.fields['worker.size']
        sleepers = []
        for name, text in self.SLEEPS:
            self._try(lambda: sleepers.append((text, self._bits(name, self.slots))),
                      'which workers sleep')
        self.workers = []
        for i in range(self.slots):
            worker = Worker(self, i, begin + i * size)
            if worker.current == 0 and i >= self.worker_count:
                continue  # no thread is attached there
            for text, bits in sleepers:
                if i in bits:
                    worker.sleeps = text
            worker.fiber = self.fiber_at(worker.current)
            if worker.fiber:
                worker.fiber.worker = worker
            self.workers.append(worker)

    def _deque(self, address, item_size):
        f, memory = self.fields, self.memory
        top, bottom = memory.u64(address + f['deque.top']), memory.u64(address + f['deque.bottom'])
        ring = memory.u64(address + f['deque.ring'])
        if ring == 0 or not 0 < (bottom - top) % (1 << 64) < 1 << 32:
            return
        capacity = memory.u64(ring + f['ring.capacity'])
        for i in range(top, bottom):
            slot = ring + f['ring.items'] + (i & (capacity - 1)) * item_size
            yield memory.read(slot, item_size)

    def _read_queues(self):
        f = self.fields
        for worker in self.workers:
            try:
                self._read_lanes(worker)
                for i in range(f['worker.readyCount']):
                    at = worker.address + f['worker.ready'] + i * f['deque.size']
                    found = {struct.unpack('<Q', item)[0] for item in self._deque(at, 8)}
                    worker.ready += len(found)
                    self.ready |= found
                self._read_inboxes(worker)
                if worker.claimed:
                    self.tasks.append(Task('claimed by worker %d' % worker.index,
                                           self.memory.text(worker.claim_name), worker.claimed,
                                           worker.claim_counter))
            except Unreadable:
                self.errors.append('cannot be read: queues of worker %d' % worker.index)
        self._items(self.address + f['scheduler.injector'], 'queued for any worker', None)

    def _read_lanes(self, worker):
        f = self.fields
        for lane in range(f['worker.laneCount']):
            at = worker.address + f['worker.lanes'] + lane * f['deque.size']
            for item in self._deque(at, f['entry.size']):
                counter, name, count = (struct.unpack_from('<Q', item, f['entry.' + member])[0]
                                        for member in ('counter', 'name', 'count'))
                units = count & f['entry.countMask'] if counter & f['entry.slice'] else 1
                mask = ~(f['entry.idMask'] | f['entry.flags'])
                worker.tasks[lane // f['worker.lanesPerLevel'] % 3] += units
                self.tasks.append(Task('queued on worker %d' % worker.index,
                                       self.memory.text(name & ~f['entry.idMask']), units,
                                       counter & mask))

    def _read_inboxes(self, worker):
        f = self.fields
        where = 'pinned to worker %d' % worker.index
        self._items(worker.address + f['worker.inbox'], where, worker)
        for kind in ('worker.pinnedFibers', 'worker.pinnedTasks'):
            for i in range(f['worker.pinnedQueues']):
                at = worker.address + f[kind] + i * f['inboxQueue.size'] + f['inboxQueue.first']
                self._items(at, where, worker)

    def _items(self, head, where, worker):
        """Reads a list of ready fibers and blocks of tasks."""
        f, memory = self.fields, self.memory
        item = memory.u64(head)
        for _ in range(1 << 20):
            if item == 0:
                return
            if memory.u8(item + f['item.kind']) == f['item.fiber']:
                fiber = self.fiber_at(item)  # a fiber begins with its item
                if fiber:
                    self.ready.add(fiber.index)
            else:
                count = memory.u16(item + f['block.count']) - memory.u16(item + f['block.taken'])
                if worker:
                    worker.pinned += count
                self.tasks.append(self._block_task(item, where, count))
            item = memory.u64(item + f['item.next'])

    def _block_task(self, block, where, count, waits_for=None):
        f, memory = self.fields, self.memory
        return Task(where, memory.text(memory.u64(block + f['block.name'])), count,
                    memory.u64(block + f['block.counter']), waits_for)

    def _pool(self, name, item_size):
        """Returns the addresses of all items of a pool, in use or not, in the order of their
        indices."""
        f = self.fields
        segments = self.address + f['scheduler.' + name] + f['pool.segments']
        first, most = 0, f[name + '.maxItems']
        while first < most:
            items = self.memory.u64(segments + f['pool.items'])
            if items == 0:
                return
            count = first or f['pool.firstItems']
            for i in range(count):
                yield items + i * item_size
            segments, first = segments + f['pool.segmentSize'], first + count

    def _pool_item(self, name, index, item_size):
        f = self.fields
        first_items = f['pool.firstItems']
        segment = 0 if index < first_items else (index // first_items).bit_length()
        first = 0 if segment == 0 else first_items << (segment - 1)
        at = self.address + f['scheduler.' + name] + f['pool.segments']
        items = self.memory.u64(at + segment * f['pool.segmentSize'] + f['pool.items'])
        if items == 0:
            raise Unreadable()
        return items + (index - first) * item_size

    def _read_any_waits(self):
        """self.any_waits: AnyWait by the address of the counter that the waiter waits for."""
        f, memory = self.fields, self.memory
        self._read_timers()
        of_waits = {owner // f['owner.anyCounters'] for owner in self.timer_owners}
        size = f['anyWait.size']
        for index, address in enumerate(self._pool('anyWaits', size)):
            done = address + f['anyWait.done']
            if memory.u64(done) // f['counter.one'] == 0:
                continue  # nobody waits
            owner = f['owner.any'] | index * f['owner.anyCounters']
            has_deadline = owner // f['owner.anyCounters'] in of_waits
            self.any_waits[done] = AnyWait(self._counters_of(address, owner), has_deadline)

    def _counters_of(self, any_wait, owner):
        f, memory = self.fields, self.memory
        count = memory.u32(any_wait + f['anyWait.asked'])
        waits = []
        try:
            array = memory.read(memory.u64(any_wait + f['anyWait.counters']), 8 * count)
            for i, counter in enumerate(struct.unpack('<%dQ' % count, array)):
                targets = [target for other, target in self.waiters(counter) if other == owner | i]
                waits.append((counter, targets[0] if targets else 0))
        except Unreadable:
            pass
        return waits

    def _read_timers(self):
        """self.timer_owners: what the calls of all timers get: a counter, or another number."""
        f, memory = self.fields, self.memory
        todo = [self._u64('timers')]
        while todo and len(self.timer_owners) < 1 << 20:
            timer = todo.pop()
            if timer == 0:
                continue
            try:
                self.timer_owners.add(memory.u64(timer + f['timer.owner']))
                todo += [memory.u64(timer + f['timer.child']), memory.u64(timer + f['timer.next'])]
            except Unreadable:
                self.errors.append('a timer cannot be read')

    def _read_timed(self):
        f, memory = self.fields, self.memory
        for timed in self._pool('timedTasks', f['timedTask.size']):
            if memory.u8(timed + f['timedTask.isSet']):
                block = memory.u64(timed + f['timedTask.block'])
                self.tasks.append(self._block_task(block, 'begins later', 1))

    def _read_external(self):
        f = self.fields
        size = f['threadWaiter.size']
        for index, address in enumerate(self._pool('threadWaiters', size)):
            counter = self.memory.u64(address + f['threadWaiter.waitsFor'])
            if counter:
                self.external.append(ExternalThread(self, index, counter))

    def waiters(self, counter):
        """Returns (owner, target) of the wait records of a counter; empty if it is gone."""
        if counter in self._lists:
            return self._lists[counter]
        f, memory, found = self.fields, self.memory, []
        self._lists[counter] = found
        try:
            head = memory.u64(counter) // f['counter.headOne'] & f['counter.headMask']
            records, count = self._u64('records'), self._u32('recordCount')
            while head and len(found) < 1 << 22:
                if head <= count:
                    record = records + (head - 1) * f['record.size']
                else:
                    record = self._pool_item('spares', head - 1 - count, f['record.size'])
                if memory.u32(record + f['record.kind']) == f['record.waiter']:
                    found.append((memory.u32(record + f['record.owner']),
                                  memory.u32(record + f['record.value'])))
                head = memory.u32(record + f['record.next'])
        except Unreadable:
            pass  # the counter is gone, or was overwritten
        return found

    def _read_deferred(self):
        """Finds the deferred tasks on all counters that are known, and on those that these tasks
        lower."""
        f = self.fields
        known = [c for fiber in self.fibers if fiber.has_task() for c in
                 [fiber.waits_for] + fiber.counters() if c]
        known += [c for wait in self.any_waits.values() for c, _ in wait.waits]
        known += [t.counter for t in self.tasks] + [e.waits_for for e in self.external]
        seen, found = set(), 0
        while known:
            counter = known.pop()
            if counter == 0 or counter in seen:
                continue
            seen.add(counter)
            for owner, target in self.waiters(counter):
                if owner & f['owner.thread'] or owner & f['owner.any'] or not owner & f['owner.task']:
                    continue
                try:
                    block = self._pool_item('singles', owner & ~f['owner.task'], f['block.size'])
                    task = self._block_task(block, 'deferred', 1, (counter, target))
                except Unreadable:
                    continue
                self.tasks.append(task)
                known.append(task.counter)
                found += 1
        self.deferred_unknown = max(0, self.deferred_count - found)

    # ---- states ----

    def _pumping(self):
        f, found = self.fields, set()
        for worker in self.workers:
            pump = worker.pump
            for _ in range(100):
                if pump == 0:
                    break
                try:
                    fiber = self.fiber_at(self.memory.u64(pump + f['pump.fiber']))
                    pump = self.memory.u64(pump + f['pump.outer'])
                except Unreadable:
                    break
                if fiber:
                    found.add(fiber.index)
        return found

    def _set_states(self):
        free, pumping, owners = self._free_fibers(), self._pumping(), {}
        self.free = [len([i for i in free if i < self.small]), len([i for i in free if i >= self.small])]
        for fiber in self.fibers:
            if fiber.waits_for and fiber.waits_for not in owners:
                owners[fiber.waits_for] = {owner for owner, _ in self.waiters(fiber.waits_for)}
            registered = fiber.waits_for and fiber.index in owners[fiber.waits_for]
            if fiber.worker:
                if registered:
                    fiber.state = 'blocked'
                elif fiber.handle:
                    fiber.state = 'switching'
                else:
                    fiber.state = 'searching' if fiber.worker.searching else 'running'
            elif registered:
                fiber.state = 'waiting'
            elif fiber.index in pumping:
                fiber.state = 'pumping'
            elif fiber.index in free or fiber.is_new:
                fiber.state = 'free'
            elif fiber.index >= self.small + self.large and not fiber.handle:
                fiber.state = 'detached'
            else:
                fiber.state = 'ready'

    def in_use(self):
        return [fiber for fiber in self.fibers if fiber.state not in ('free', 'detached')]

    def lost_lines(self):
        lost = sum(fiber.is_lost and fiber.has_task() for fiber in self.fibers)
        if not lost:
            return []
        return ['The stacks of %d fibers are zeros in this core dump. gdb\'s gcore loses stacks; a core '
                'dump of the kernel has them.' % lost]

    # ---- who could lower what ----

    def _index_lowerers(self):
        """self.lowerers: for each counter a list of (what, units). `what` is a Fiber, a Task or a
        text."""
        self.lowerers = {}

        def add(counter, what, units=1):
            self.lowerers.setdefault(counter, []).append((what, units))
        for fiber in self.fibers:
            if fiber.has_task():
                for counter in fiber.counters():
                    add(counter, fiber)
        merged = {}  # slices of one batch
        for task in self.tasks:
            if task.counter:
                key = (task.where, task.name, task.counter)
                if task.waits_for or key not in merged:
                    merged[key if not task.waits_for else id(task)] = task
                else:
                    merged[key].units += task.units
        for task in merged.values():
            add(task.counter, task, task.units)
        for worker in self.workers:
            if worker.pending_counter and worker.pending_units:
                add(worker.pending_counter, 'a decrement that worker %d will carry out' %
                    worker.index, worker.pending_units)
        for owner in self.timer_owners:
            if owner >= 1 << 32:
                add(owner, 'a deadline')

    def value(self, counter):
        return self.memory.u64(counter) // self.fields['counter.one']

    def name_counter(self, counter):
        """Returns text that names a counter."""
        at = bisect.bisect_right(self.stacks, (counter, 1 << 32)) - 1
        if at >= 0:
            fiber = self.fibers[self.stacks[at][1]]
            if counter < fiber.bottom + fiber.bytes:
                return 'a counter on the stack of fiber %s' % fiber.id()  # a lock, for example
        return self.memory.symbol(counter) or 'counter 0x%x' % counter

    def describe_counter(self, counter, target=0):
        until = ' (until it is %d)' % target if target else ''
        try:
            return '%s = %d%s' % (self.name_counter(counter), self.value(counter), until)
        except Unreadable:
            return 'counter 0x%x, which cannot be read' % counter

    def describe_wait(self, fiber):
        """Returns text that says what a fiber waits for."""
        if fiber.waits_for_idle:
            return 'the end of all other tasks (WaitIdle)'
        wait = self.any_waits.get(fiber.waits_for)
        if not wait:
            return self.describe_counter(fiber.waits_for, fiber.target)
        texts = [self.describe_counter(*w) for w in wait.waits[:4]]
        if len(wait.waits) > 4:
            texts.append('%d more' % (len(wait.waits) - 4))
        if wait.has_deadline:
            texts.append('a deadline')
        return ('the first of: ' if len(texts) > 1 else '') + ', '.join(texts)


class Process:
    def __init__(self, root):
        self.root = root
        several = len(root.schedulers) > 1
        self.schedulers, self.errors = [], []
        for i, address in enumerate(root.schedulers):
            try:
                self.schedulers.append(Scheduler(root, address, '%d.' % i if several else ''))
            except Unreadable:
                self.errors.append('the scheduler at 0x%x cannot be read' % address)

    def fiber(self, text):
        """Returns the fiber that the user names: N, SCHEDULER.N if there are several, or the first
        one whose task has this name."""
        fibers = [fiber for scheduler in self.schedulers for fiber in scheduler.fibers]
        for fiber in fibers:
            if fiber.id() == text:
                if not fiber.has_task():
                    raise NoRoot('fiber %s is %s' % (text, fiber.state))
                return fiber
        for fiber in fibers:
            if fiber.has_task() and fiber.name == text:
                return fiber
        raise NoRoot("there is no fiber '%s'" % text)

    # ---- commands: each returns lines ----

    def stacks_lines(self, frames_of, lines_of, full):
        """`frames_of(fiber)` returns frames with `pc` and is_wefts(); `lines_of(frames, full)`
        prints them. Equal stacks appear once."""
        stacks, lines = {}, list(self.errors)
        for s in self.schedulers:
            for fiber in s.fibers:
                if fiber.has_task():
                    frames = frames_of(fiber)
                    key = (fiber.state, tuple(f.pc for f in frames if full or not f.is_wefts()))
                    stacks.setdefault(key, (frames, []))[1].append(fiber)
        for (state, _), (frames, fibers) in sorted(stacks.items(), key=lambda s: -len(s[1][1])):
            names = ', '.join("%s '%s'" % (f.id(), f.label()) for f in fibers[:16])
            lines.append('%d fiber%s %s: %s%s' % (len(fibers), 's' * (len(fibers) > 1), state, names,
                                                  ', ...' * (len(fibers) > 16)))
            lines += lines_of(frames, full)
        for s in self.schedulers:
            lines += s.lost_lines()
        return lines

    def fibers_lines(self, everything, place_of=None):
        """`place_of(fiber)` returns the function in which a fiber stands, or ''."""
        lines = list(self.errors)
        for s in self.schedulers:
            lines.append('scheduler 0x%x: %d workers, %d small and %d large fibers, %d and %d free' %
                         (s.address, s.worker_count, s.small, s.large, s.free[0], s.free[1]))
            rows = []
            for fiber in (s.fibers if everything else s.in_use()):
                where = ''
                if fiber.state in ('waiting', 'blocked'):
                    where = 'for ' + s.describe_wait(fiber)
                elif fiber.worker:
                    where = 'on worker %d' % fiber.worker.index
                place = place_of(fiber) if place_of and fiber.has_task() else ''
                name = fiber.name_text() if fiber.has_task() else ''
                if fiber.is_lost and fiber.has_task():
                    place = '(no stack)'
                rows.append((fiber.id(), fiber.state, name, place or '', where))
            lines += table(('fiber', 'state', 'task', 'in', ''), rows)
            lines += s.errors + s.lost_lines()
        return lines

    def workers_lines(self, thread_of=None):
        lines = list(self.errors)
        for s in self.schedulers:
            lines.append('scheduler 0x%x' % s.address)
            rows = []
            for w in s.workers:
                state = w.sleeps or ('searching' if w.searching else 'running')
                if w.sleeps and w.fiber and w.fiber.state == 'blocked':
                    state = 'asleep in a wait'
                if w.inactive:
                    state += ', inactive'
                if w.in_hook:
                    state += ', in a hook'
                runs = w.fiber.text() if w.fiber and not w.searching else ''
                name = str(w.index) + (' (attached)' if w.index >= s.worker_count else '')
                rows.append((name, thread_of(w) if thread_of else '', state, runs,
                             '/'.join(map(str, w.tasks)), str(w.claimed), str(w.pinned),
                             str(w.ready), str(w.finished)))
            lines += table(('worker', 'thread', 'state', 'runs', 'tasks high/normal/low', 'claimed',
                            'pinned', 'ready', 'finished'), rows)
            for e in s.external:
                lines.append('%s waits for %s' % (e.text(), s.describe_counter(e.waits_for)))
            lines += s.errors
        return lines

    def why_lines(self, place_of=None):
        lines = list(self.errors)
        for s in self.schedulers:
            lines += Why(s, place_of).lines()
        return lines


def table(titles, rows):
    if not rows:
        return []
    widths = [max(len(row[i]) for row in [titles] + rows) for i in range(len(titles))]
    used = [i for i in range(len(titles)) if any(row[i] for row in rows)]
    return ['  ' + '  '.join(row[i].ljust(widths[i]) for i in used).rstrip() for row in [titles] + rows]


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


class Node:
    """Something that waits: a fiber, an external thread, or a deferred task. `needs`: for each
    counter, by how much it must fall; all of them, or with `any` one of them."""

    def __init__(self, what, needs, one_of, waits):
        self.what, self.needs, self.any, self.waits = what, needs, one_of, waits
        self.edges, self.has_deadline = [], False

    def is_idle(self):
        return isinstance(self.what, Fiber) and self.what.waits_for_idle


class Why:
    """Finds out which waits cannot end.

    What runs, is ready or is queued is assumed to end. A wait can end if enough of what could lower
    its counter can end. All other waits are stuck. A stuck wait is part of a cycle of waits; or
    its counter stands higher than all tasks that weft knows of could lower it; or it is behind
    such waits."""

    def __init__(self, scheduler, place_of=None):
        self.s, self.place_of = scheduler, place_of
        self.nodes, self.node_of = [], {}
        for fiber in scheduler.fibers:
            if fiber.state in ('waiting', 'blocked'):
                self._add_fiber(fiber)
        for thread in scheduler.external:
            self._add(thread, [(thread.waits_for, 0)], False,
                      scheduler.describe_counter(thread.waits_for))
        for task in scheduler.tasks:
            if task.waits_for:
                self._add(task, [task.waits_for], False, scheduler.describe_counter(*task.waits_for))
        self._mark_stuck()

    def _add(self, what, counters, one_of, waits):
        needs = []
        for counter, target in counters:
            try:
                needs.append((counter, max(1, self.s.value(counter) - target)))
            except Unreadable:
                pass
        node = Node(what, needs, one_of, waits)
        self.nodes.append(node)
        self.node_of[id(what)] = node

    def _add_fiber(self, fiber):
        wait = self.s.any_waits.get(fiber.waits_for)
        text = self.s.describe_wait(fiber)
        if wait:
            self._add(fiber, wait.waits, True, text)
            self.node_of[id(fiber)].has_deadline = wait.has_deadline
        else:
            self._add(fiber, [(fiber.waits_for, fiber.target)], False, text)

    def _mark_stuck(self):
        """A wait that can end lets others end. So it is asked again when one of the tasks that
        could lower its counter can end."""
        waits_for = {}  # for each counter: the nodes that wait for it
        for node in self.nodes:
            node.stuck = True
            for counter, _ in node.needs:
                waits_for.setdefault(counter, []).append(node)
        counters_of = {}  # for each node: the counters that it lowers
        for counter, lowerers in self.s.lowerers.items():
            for what, _ in lowerers:
                if id(what) in self.node_of:
                    counters_of.setdefault(self.node_of[id(what)], []).append(counter)
        asked = list(self.nodes)
        while asked:
            node = asked.pop()
            if node.stuck and self._can_end(node):
                node.stuck = False
                for counter in counters_of.get(node, ()):
                    asked += waits_for.get(counter, ())
        others_stuck = any(node.stuck and not node.is_idle() for node in self.nodes)
        for node in self.nodes:
            if node.is_idle():
                node.stuck = others_stuck
        for node in self.nodes:
            self._find_edges(node)

    def _can_end(self, node):
        if node.has_deadline:
            return True
        if node.is_idle():
            return False  # decided last
        met = (self._units(counter) >= units for counter, units in node.needs)
        return any(met) if node.any else all(met)

    def _units(self, counter):
        """By how much the counter can fall without the stuck waits."""
        return sum(units for what, units in self.s.lowerers.get(counter, ())
                   if id(what) not in self.node_of or not self.node_of[id(what)].stuck)

    def _known(self, node):
        return sum(units for counter, _ in node.needs
                   for _, units in self.s.lowerers.get(counter, ()))

    def _find_edges(self, node):
        """The stuck waits that a stuck wait waits for."""
        seen = set()
        for counter, _ in node.needs if node.stuck else ():
            for what, _ in self.s.lowerers.get(counter, ()):
                other = self.node_of.get(id(what))
                if other and other.stuck and other not in seen and not (other is node and node.any):
                    seen.add(other)
                    node.edges.append(other)

    def _cycles(self):
        """Returns the strongly connected parts of the stuck waits (Tarjan), without loops of
        length 0."""
        index, low, stack, on_stack, parts = {}, {}, [], set(), []
        for start in self.nodes:
            if not start.stuck or start in index:
                continue
            work = [(start, iter(start.edges))]
            index[start] = low[start] = len(index)
            stack.append(start)
            on_stack.add(start)
            while work:
                node, edges = work[-1]
                for other in edges:
                    if other not in index:
                        index[other] = low[other] = len(index)
                        stack.append(other)
                        on_stack.add(other)
                        work.append((other, iter(other.edges)))
                        break
                    if other in on_stack:
                        low[node] = min(low[node], index[other])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[node])
                    if low[node] == index[node]:
                        part = []
                        while True:
                            member = stack.pop()
                            on_stack.discard(member)
                            part.append(member)
                            if member is node:
                                break
                        if len(part) > 1 or node in node.edges:
                            parts.append(part)
        return parts

    @staticmethod
    def _shortest_cycle(part):
        """Returns the members of a shortest cycle through the first member, in order."""
        members, start = set(part), min(part, key=lambda node: getattr(node.what, 'index', 0))
        came, queue = {}, [start]
        while queue:
            node = queue.pop(0)
            for other in node.edges:
                if other is start:
                    path = [node]
                    while path[-1] is not start:
                        path.append(came[path[-1]])
                    return path[::-1]
                if other in members and other not in came:
                    came[other] = node
                    queue.append(other)
        return part

    def _lowered_by(self, node):
        """Returns text that says what could lower the counters of a node."""
        texts = []
        for counter, _ in node.needs:
            for what, units in self.s.lowerers.get(counter, ()):
                if isinstance(what, Fiber):
                    texts.append('%s (%s)' % (what.text(), what.state))
                elif isinstance(what, Task):
                    texts.append(what.text())
                else:
                    texts.append(what)
        needed = sum(units for _, units in node.needs)
        missing = 0 if node.any else needed - self._known(node)
        if len(texts) > 6:
            texts[6:] = ['%d more' % (len(texts) - 6)]
        text = 'lowered by ' + ', '.join(texts) if texts else 'which no task lowers'
        if texts and missing > 0:
            text += '; no task lowers it for the other %d' % missing
        return text

    def _is_root(self, node):
        """The counter stands higher than what is known could lower it."""
        if node.is_idle():
            return False
        lacking = [units > sum(u for _, u in self.s.lowerers.get(counter, ()))
                   for counter, units in node.needs]
        return not node.needs or (all(lacking) if node.any else any(lacking))

    def _text(self, node):
        what = node.what
        if isinstance(what, Fiber) and self.place_of:
            place = self.place_of(what)
            text = '%s in %s waits for %s' % (what.text(), place, node.waits) if place else ''
        else:
            text = ''
        text = text or '%s waits for %s' % (what.text(), node.waits)
        return '  ' + text + ('' if node.has_deadline or node.is_idle() else
                              ', ' + self._lowered_by(node))

    def _texts(self, nodes):
        """One line for each node. Those that differ only in their numbers share one."""
        groups = {}
        for node in nodes:
            name = node.what.label() if isinstance(node.what, Fiber) else node.what.text()
            groups.setdefault((name, node.waits, self._lowered_by(node)), []).append(node)
        lines = []
        for group in groups.values():
            lines += [self._text(node) for node in group[:2]]
            if len(group) > 2:
                lines.append('  and %d more like the last one' % (len(group) - 2))
        return lines

    def lines(self):
        s = self.s
        stuck = [node for node in self.nodes if node.stuck]
        others = [node for node in self.nodes if not node.stuck]
        fibers = sum(isinstance(node.what, Fiber) for node in self.nodes)
        lines = ['scheduler 0x%x: %d of %d fibers wait' % (s.address, fibers, s.small + s.large)]
        if not self.nodes:
            return lines
        told = set()
        cycles = self._cycles()
        for part in cycles[20:]:
            told.update(part)
        for part in cycles[:20]:
            cycle = self._shortest_cycle(part)
            told.update(cycle)
            lines.append('cycle of %d:' % len(cycle))
            for i, node in enumerate(cycle):
                after = cycle[(i + 1) % len(cycle)]
                lines.append('  %s waits for %s, which %s lowers' %
                             (node.what.text(), node.waits,
                              after.what.text() if after is not node else 'the same task'))
        if len(cycles) > 20:
            lines.append('and %d more cycles' % (len(cycles) - 20))
        roots = [node for node in stuck if node not in told and self._is_root(node)]
        told.update(roots)
        if roots:
            lines.append('root%s:' % ('s' * (len(roots) > 1)))
            lines += self._texts(roots)
        behind = [node for node in stuck if node not in told]
        if behind:
            lines.append('these wait for the above:')
            lines += self._texts(behind)
        if others:
            lines.append('these wait for work that can go on:')
            lines += self._texts(others)
        if s.deferred_unknown:
            lines.append('deferred tasks that come after counters which nothing above names: %d' %
                         s.deferred_unknown)
        if s.external_work:
            lines.append('ExternalWork objects, which may lower any of these counters: %d' %
                         s.external_work)
        asleep = all(w.sleeps for w in s.workers)
        queued = [task for task in s.tasks if task.where not in ('deferred', 'begins later')]
        if asleep and queued and s.free[0] == 0:
            lines.append('no small fiber is free for the queued tasks: raise '
                         'SchedulerOptions::smallFibers')
        return lines + s.errors + s.lost_lines()
