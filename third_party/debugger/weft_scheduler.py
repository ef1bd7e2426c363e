# Reads a scheduler from memory: its fibers and their states, its workers, and all tasks that have
# not begun.
import bisect
import struct

from weft_parts import AnyWait, ExternalThread, Fiber, Task, Worker
from weft_root import Unreadable, View


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
        self.deferred_unknown, self.free = 0, [0, 0]
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
        size = self.fields['fiber.size']
        count = self.small + self.large + self.slots - self.worker_count
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
                    memory.u64(block + f['block.counter']) & ~f['entry.flags'], waits_for)

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
                if block:  # otherwise it is the deadline of a coroutine's wait
                    self.tasks.append(self._block_task(block, 'begins later', 1))

    def _read_external(self):
        f = self.fields
        size = f['threadWaiter.size']
        for address in self._pool('threadWaiters', size):
            counter = self.memory.u64(address + f['threadWaiter.waitsFor'])
            if counter:
                self.external.append(ExternalThread(counter))

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
        seen, batches, found = set(), set(), 0
        while known:
            counter = known.pop()
            if counter == 0 or counter in seen:
                continue
            seen.add(counter)
            for owner, target in self.waiters(counter):
                if owner & (f['owner.thread'] | f['owner.any']) or not owner & f['owner.task']:
                    continue
                if owner in batches:
                    continue  # it waits for several counters, and one of them has named it
                try:
                    if owner & f['owner.batch']:
                        index = owner & ~(f['owner.task'] | f['owner.batch'])
                        batch = self._pool_item('batches', index, f['batch.size'])
                        batches.add(owner)
                        if self.memory.u64(batch + f['batch.state']) & f['batch.withdrawn']:
                            continue  # its tasks do not wait any more
                        block = self.memory.u64(batch + f['batch.oldest'])
                        count = self.memory.u32(batch + f['batch.count'])
                    else:
                        index = owner & ~f['owner.task']
                        block = self._pool_item('singles', index, f['block.size'])
                        if self.memory.u8(block + f['block.deferral']) == f['block.withdrawn']:
                            continue
                        count = 1
                    task = self._block_task(block, 'deferred', count, (counter, target))
                except Unreadable:
                    continue
                self.tasks.append(task)
                known.append(task.counter)
                found += count
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
        self.free = [sum(i < self.small for i in free), sum(i >= self.small for i in free)]
        for fiber in self.fibers:
            if fiber.waits_for and fiber.waits_for not in owners:
                owners[fiber.waits_for] = {owner for owner, _ in self.waiters(fiber.waits_for)}
            registered = fiber.waits_for and fiber.index in owners[fiber.waits_for] or \
                fiber.is_lost_wait
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
        until = ' (until it is %d)' % target if target else ''
        fiber = self._fiber_with_stack(counter)
        if fiber and fiber.is_lost:
            return self.name_counter(counter) + until
        try:
            return '%s = %d%s' % (self.name_counter(counter), self.value(counter), until)
        except Unreadable:
            return 'counter 0x%x, which cannot be read' % counter

    def describe_wait(self, waiter):
        """Returns text that says what a fiber or an external thread waits for."""
        if waiter.waits_for_idle:
            return 'the end of all other tasks (WaitIdle)'
        wait = self.any_waits.get(waiter.waits_for)
        if waiter.lock:
            return 'lock %s%s' % (self.memory.symbol(waiter.lock.address) or
                                  '0x%x' % waiter.lock.address,
                                  ' (until a deadline)' if wait and wait.has_deadline else '')
        if not wait:
            return self.describe_counter(waiter.waits_for, waiter.target)
        texts = [self.describe_counter(*w) for w in wait.waits[:4]]
        if len(wait.waits) > 4:
            texts.append('%d more' % (len(wait.waits) - 4))
        if wait.has_deadline:
            texts.append('a deadline')
        return ('the first of: ' if len(texts) > 1 else '') + ', '.join(texts)
