# Reads a scheduler from memory: its fibers and their states, its workers, and all tasks that have
# not begun.
import bisect
import struct

from weft_parts import ExternalThread, Fiber, Task, Worker
from weft_root import Unreadable, View


class Scheduler:
    WAITS = {'idle': ['the end of all other tasks (WaitIdle)'], 'call': ['a blocking call'],
             'operation': ['an operation of AsyncIo'], 'sleep': []}  # the others wait for counters

    def __init__(self, root, address, prefix):
        self.root, self.address, self.prefix = root, address, prefix
        self.memory, self.fields = root.memory, root.fields
        self.errors = []
        u32, u64, f = self._u32, self._u64, self.fields
        self.fiber_count = u32('fiberCount')
        self.worker_count, self.slots = u32('workerCount'), u32('slotCount')
        outside = u64('taskScheduler') + f['taskScheduler.outside']
        self.external_work = self.memory.u32(outside)
        self.tasks = []     # Task
        self.external = []  # ExternalThread
        self.free = set()   # the indices of fibers
        self._read_fibers()
        self._read_workers()
        # A minidump need not have the rest.
        self._try(self._read_queues, 'queues')
        self._try(self._set_states, 'free fibers')
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
        size = self.fields['fiber.size']
        count = self.fiber_count + self.slots - self.worker_count
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

    def _read_free(self):
        words, size = self._u64('free'), self.fields['bits.wordSize']
        for word in range((self.fiber_count + 63) // 64):
            bits = self.memory.u64(words + word * size)
            self.free.update(word * 64 + i for i in range(64) if bits >> i & 1)

    def _read_workers(self):
        begin, size = self._u64('workers'), self.fields['worker.size']
        self.workers = []
        for i in range(self.slots):
            worker = Worker(self, i, begin + i * size)
            if worker.spare_fiber < self.fiber_count:
                self.free.add(worker.spare_fiber)
            if worker.current == 0 and i >= self.worker_count:
                continue  # no thread is attached there
            worker.fiber = self.fiber_at(worker.current)
            if worker.fiber:
                worker.fiber.worker = worker
            self.workers.append(worker)

    def _read_queues(self):
        f = self.fields
        for worker in self.workers:
            where = 'pinned to worker %d' % worker.index
            try:
                for level in range(f['level.count']):
                    self._read_deque(worker, level)
                worker.pinned += self._read_list(worker.address + f['worker.inbox'], where)
                for priority in range(f['level.priorities']):
                    at = worker.address + f['worker.pinned'] + priority * f['inboxQueue.size']
                    worker.pinned += self._read_list(at + f['inboxQueue.first'], where)
                self._read_claim(worker)
            except Unreadable:
                self.errors.append('cannot be read: queues of worker %d' % worker.index)
        for name, lists in ('scheduler.injector', 1), ('scheduler.behind', f['level.count']):
            for i in range(lists):
                self._read_list(self.address + f[name] + 8 * i, 'queued for any worker')

    def _read_deque(self, worker, level):
        f, memory = self.fields, self.memory
        deque = worker.address + f['worker.queues'] + level * f['deque.size']
        top, bottom = memory.u64(deque + f['deque.top']), memory.u64(deque + f['deque.bottom'])
        ring = memory.u64(deque + f['deque.ring'])
        if ring == 0 or not 0 < (bottom - top) % (1 << 64) < 1 << 32:
            return
        capacity = memory.u64(ring + f['ring.capacity'])
        priority = level * f['level.priorities'] // f['level.count']
        for i in range(top, bottom):
            slot = ring + f['ring.items'] + (i & (capacity - 1)) * f['entry.size']
            worker.tasks[priority] += self._read_entry(worker, memory.read(slot, f['entry.size']))

    def _read_entry(self, worker, entry):
        """Returns the number of tasks."""
        f = self.fields
        what, counter, name = (struct.unpack_from('<Q', entry, f['entry.' + member])[0]
                               for member in ('what', 'counter', 'name'))
        where = 'queued on worker %d' % worker.index
        kind = counter & f['entry.kindMask']
        if kind == f['entry.chunk']:
            return self._add_chunk(what, where)
        if kind == f['entry.fiber']:
            worker.ready += 1
            return 0
        self._add_tasks(where, name & f['entry.nameMask'], 1, counter & ~f['entry.flags'])
        return 1

    def _counter_of(self, chunk):
        return self.memory.u64(chunk + self.fields['chunk.counterBits']) & ~self.fields['entry.flags']

    def _add_tasks(self, where, name, units, counter, waits=None):
        self.tasks.append(Task(where, self.memory.text(name), units, counter, waits))

    def _add_chunk(self, chunk, where):
        """Returns the number of its tasks that have not begun."""
        f, memory = self.fields, self.memory
        units = memory.u8(chunk + f['chunk.end']) - memory.u8(chunk + f['chunk.begin'])
        name = memory.u64(chunk + f['chunk.nameBits']) & f['entry.nameMask']
        self._add_tasks(where, name, units, self._counter_of(chunk))
        return units

    def _read_list(self, head, where):
        """Reads a list of chunks, ready fibers and signals. Returns the number of tasks."""
        f, memory, units = self.fields, self.memory, 0
        item = memory.u64(head)
        for _ in range(1 << 20):
            if item == 0:
                break
            if memory.u8(item + f['item.kind']) == f['item.chunk']:
                units += self._add_chunk(item, where)
            item = memory.u64(item + f['item.next'])
        return units

    def _read_claim(self, worker):
        f, memory, chunk = self.fields, self.memory, worker.claim
        if chunk:  # one task of the innermost chunk runs, and those before it have finished
            ended = memory.u8(chunk + f['chunk.begin']) - memory.u8(chunk + f['chunk.settled']) - 1
            worker.pending.append((self._counter_of(chunk), max(0, ended)))
        for _ in range(1000):
            if chunk == 0:
                break
            worker.claimed += self._add_chunk(chunk, 'claimed by worker %d' % worker.index)
            chunk = memory.u64(chunk + f['chunk.outer'])

    def _pool(self, name, item):
        """Returns (index, View) of all items of a pool, in use or not."""
        f = self.fields
        segment = self.address + f['scheduler.' + name] + f['pool.segments']
        first, size = 0, f[item + '.size']
        while first < f[name + '.maxItems']:
            count = first or f['pool.firstItems']
            items = self.memory.u64(segment + f['pool.items'])
            data = self.memory.read(items, count * size) if items else b''
            for i in range(len(data) // size):
                yield first + i, View(f, item + '.', data[i * size:(i + 1) * size])
            segment, first = segment + f['pool.segmentSize'], first + count

    def _record(self, index):
        """Returns the address of a wait record. Those behind the fibers' are in a pool."""
        f, records, count = self.fields, self._u64('records'), self._u32('recordCount')
        if index < count:
            return records + index * f['record.size']
        index, first_items = index - count, f['pool.firstItems']
        if index >= f['spares.maxItems']:
            raise Unreadable()
        segment = 0 if index < first_items else (index // first_items).bit_length()
        first = 0 if segment == 0 else first_items << (segment - 1)
        at = self.address + f['scheduler.spares'] + f['pool.segments']
        items = self.memory.u64(at + segment * f['pool.segmentSize'] + f['pool.items'])
        if items == 0:
            raise Unreadable()
        return items + (index - first) * f['record.size']

    def _read_external(self):
        for _, view in self._pool('threadWaiters', 'threadWaiter'):
            if view.u64('waitsFor'):
                self.external.append(ExternalThread(self.fields, view))

    def _waiters(self, counter):
        """Returns (owner, target) of the wait records of a counter; those before the counter turned
        out to be gone or overwritten. The records are a list, and some have a heap below them."""
        f, memory, found, seen = self.fields, self.memory, [], set()
        try:
            todo = [memory.u64(counter) // f['counter.headOne'] & f['counter.headMask']]
            while todo:
                number = todo.pop()
                if number == 0 or number in seen:
                    continue
                seen.add(number)
                record = self._record(number - 1)
                found.append((memory.u32(record + f['record.owner']),
                              memory.u32(record + f['record.value'])))
                todo += [memory.u32(record + f['record.child']),
                         memory.u32(record + f['record.next'])]
        except Unreadable:
            pass
        return found

    def waits_of(self, waiter):
        """Returns (counter, target) for what a fiber or an external thread waits for."""
        if waiter.kind != 'several':
            return [] if waiter.kind in self.WAITS else [(waiter.waits_for, waiter.target)]
        f, memory, wait = self.fields, self.memory, waiter.waits_for - self.fields['anyWait.first']
        try:
            count = memory.u64(wait + f['anyWait.count'])
            if count < 1 << 16:
                array = memory.read(memory.u64(wait + f['anyWait.counters']), 8 * count)
                return [(counter, 0) for counter in struct.unpack('<%dQ' % count, array)]
        except Unreadable:
            pass
        return []  # the stack is lost, or the wait has just ended

    def _read_deferred(self):
        """A deferred task only tells how many counters it waits for. Those that others wait for or
        lower have records of it. No known task lowers any other counter."""
        f, found, waits = self.fields, [], {}
        for index, view in self._pool('deferredTasks', 'deferred'):
            left = (view.u64('state') & f['deferred.left']) - view.u32('firesAt')
            if left <= 0 or view.u64('state') & f['deferred.withdrawn']:
                continue  # not in use, or its tasks do not wait any more
            task = view.u64('name'), view.u32('count'), view.u64('counter')
            if view.u8('isTimed'):
                self._add_tasks('begins later', *task)
            else:
                found.append((index, task, left))
        waiters = [fiber for fiber in self.fibers if fiber.waits_for] + self.external
        known = {counter for waiter in waiters for counter, _ in self.waits_of(waiter)}
        known.update(c for fiber in self.fibers if fiber.has_task() for c in fiber.counters())
        known.update(c for worker in self.workers for c, _ in worker.pending)
        known.update([task.counter for task in self.tasks] + [task[2] for _, task, _ in found])
        for counter in known if found else ():
            for owner, target in self._waiters(counter) if counter else ():
                if owner & f['owner.kindMask'] == f['owner.deferred']:
                    index = owner & ~f['owner.kindMask']
                    waits.setdefault(index, []).append((counter, target))
        for index, task, left in found:
            known = waits.get(index, [])
            self._add_tasks('deferred', *task, known + [(None, 0)] * (left - len(known)))

    # ---- states ----

    def _set_states(self):
        self._read_free()
        pumping = [self.fiber_at(worker.pump) for worker in self.workers]
        for fiber in self.fibers:
            if fiber.worker and fiber.handle:
                fiber.state = 'switching'
            elif fiber.worker and fiber.waits_for:
                fiber.state = 'blocked'
            elif fiber.worker:
                fiber.state = 'searching' if fiber.worker.rest else 'running'
            elif fiber.waits_for:
                fiber.state = 'waiting'
            elif fiber in pumping:
                fiber.state = 'pumping'
            elif fiber.index in self.free:
                fiber.state = 'free'
            elif fiber.is_threads and not fiber.handle:
                fiber.state = 'detached'
            else:
                fiber.state = 'ready'

    def end_text(self):
        f = self.fields
        if not self.memory.u8(self.address + f['scheduler.endWanted']):
            return ''
        return ': the run is to end, and %d threads are attached or wait' % self._u32('guests')

    def in_use(self):
        return [fiber for fiber in self.fibers if fiber.state not in ('free', 'detached')]

    def lost_lines(self):
        lost = sum(fiber.is_lost and fiber.has_task() for fiber in self.fibers)
        if not lost:
            return []
        return ['The stacks of %d fibers are zeros in this core dump. gdb\'s gcore loses stacks; a '
                'core dump of the kernel has them.' % lost]

    # ---- who could lower what ----

    def _index_lowerers(self):
        """self.lowerers: for each counter a list of (what, units). `what` is a Fiber, a Task or a
        text. For each Lock the same: what holds it, with one unit each."""
        self.lowerers = {}

        def add(counter, what, units=1):
            self.lowerers.setdefault(counter, []).append((what, units))
        for fiber in self.fibers:
            if fiber.has_task():
                for counter in fiber.counters() + fiber.held_locks:
                    add(counter, fiber)
                if fiber.lock and fiber.state not in ('waiting', 'blocked'):
                    # It has been woken, or tries to lock before it waits.
                    add(fiber.lock, '%s (%s, it locks now)' % (fiber.text(), fiber.state))
        merged = {}  # chunks of one batch
        for task in self.tasks:
            key = id(task) if task.waits is not None else (task.where, task.name, task.counter)
            if task.counter and key in merged:
                merged[key].units += task.units
            elif task.counter:
                merged[key] = task
        for task in merged.values():
            add(task.counter, task, task.units)
        for worker in self.workers:
            for counter, units in worker.pending:
                if counter and units:
                    add(counter, 'a decrement that worker %d will carry out' % worker.index, units)

    def value(self, counter):
        return self.memory.u64(counter) // self.fields['counter.one']

    def _fiber_with_stack(self, address):
        at = bisect.bisect_right(self.stacks, (address, 1 << 32)) - 1
        fiber = self.fibers[self.stacks[at][1]] if at >= 0 else None
        return fiber if fiber and fiber.has_on_stack(address) else None

    def name_counter(self, counter):
        """Returns text that names a counter."""
        fiber = self._fiber_with_stack(counter)
        if fiber:
            return 'a counter on the stack of fiber %s' % fiber.id()  # a lock, for example
        return self.memory.symbol(counter) or 'counter 0x%x' % counter

    def describe_counter(self, counter, target=0):
        if counter is None:
            return 'a counter'
        until = ' (until it is %d)' % target if target else ''
        fiber = self._fiber_with_stack(counter)
        if fiber and fiber.is_lost:
            return self.name_counter(counter) + until
        try:
            return '%s = %d%s' % (self.name_counter(counter), self.value(counter), until)
        except Unreadable:
            return 'counter 0x%x, which cannot be read' % counter

    def describe_counters(self, waits):
        texts = [self.describe_counter(*wait) for wait in waits[:4]]
        return texts + ['%d more' % (len(waits) - 4)] * (len(waits) > 4)

    def describe_wait(self, waiter):
        """Returns text that says what a fiber or an external thread waits for."""
        until = ['a deadline'] if waiter.has_deadline else []
        if waiter.lock:
            return 'lock %s%s' % (self.memory.symbol(waiter.lock.address) or
                                  '0x%x' % waiter.lock.address,
                                  ' (until a deadline)' if until else '')
        texts = self.WAITS.get(waiter.kind)
        if texts is None:
            texts = self.describe_counters(self.waits_of(waiter)) or ['one of several counters']
        texts = texts + until
        return ('the first of: ' if len(texts) > 1 else '') + ', '.join(texts)
