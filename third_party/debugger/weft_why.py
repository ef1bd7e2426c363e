# Why waits do not end: cycles, counters that nobody lowers, and what waits behind these.
from weft_parts import Fiber, Lock, Task, Waiter
from weft_root import Unreadable


class Node:
    """Something that waits: a fiber, an external thread, or a deferred task. `needs`: for each
    counter, by how much it must fall; all of them, or with `any` one of them. If it waits for a
    lock: the Lock, and the number of its holders; all of them must unlock it."""

    def __init__(self, what, needs, one_of, waits):
        self.what, self.needs, self.any, self.waits = what, needs, one_of, waits
        self.edges, self.ends_itself = [], False
        self.for_lock = any(isinstance(counter, Lock) for counter, _ in needs)

    def is_idle(self):
        return isinstance(self.what, Waiter) and self.what.kind == 'idle'


class Why:
    """Finds out which waits cannot end.

    What runs, is ready or is queued is assumed to end. A wait can end if enough of what could lower
    its counter can end. All other waits are stuck. A stuck wait is part of a cycle of waits; or
    its counter stands higher than all tasks that weft knows of could lower it; or it is behind
    such waits. For a wait for a lock, the holders of the lock stand for the tasks that lower a
    counter."""

    def __init__(self, scheduler, place_of=None):
        self.s, self.place_of = scheduler, place_of
        self.nodes, self.node_of = [], {}
        for fiber in scheduler.fibers:
            if fiber.state in ('waiting', 'blocked'):
                self._add_waiter(fiber)
        for thread in scheduler.external:
            self._add_waiter(thread)
        for task in scheduler.tasks:
            if task.waits is not None:
                text = ' and '.join(scheduler.describe_counters(task.waits))
                self._add(task, task.waits, False, text)
        self._mark_stuck()

    def _add(self, what, counters, one_of, waits):
        needs = []
        for counter, target in counters:
            try:
                needs.append((counter, max(1, self._height(counter) - target)))
            except Unreadable:
                pass
        node = Node(what, needs, one_of, waits)
        self.nodes.append(node)
        self.node_of[id(what)] = node
        return node

    def _height(self, counter):
        if isinstance(counter, Lock):
            return len(self.s.lowerers.get(counter, ()))
        return self.s.value(counter) if counter else 1  # that none of the known tasks lowers

    def _add_waiter(self, waiter):
        waits = [(waiter.lock, 0)] if waiter.lock else self.s.waits_of(waiter)
        node = self._add(waiter, waits, waiter.kind == 'several', self.s.describe_wait(waiter))
        node.ends_itself = waiter.has_deadline or waiter.kind in ('call', 'operation') or \
            (waiter.kind == 'several' and not waits)  # its counters are not known

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
        if node.ends_itself:
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
        """Returns text that says what could lower the counters of a node, or holds its lock."""
        texts, tasks = [], {}
        for counter, _ in node.needs:
            for what, units in self.s.lowerers.get(counter, ()):
                if isinstance(what, Fiber):
                    texts.append('%s (%s)' % (what.text(), what.state))
                elif isinstance(what, Task):
                    tasks[what.name, what.where] = tasks.get((what.name, what.where), 0) + units
                else:
                    texts.append(what)
        texts += [Task(where, name, units, 0).text() for (name, where), units in tasks.items()]
        needed = sum(units for _, units in node.needs)
        missing = 0 if node.any else needed - self._known(node)
        if len(texts) > 6:
            texts[6:] = ['%d more' % (len(texts) - 6)]
        if node.for_lock:
            return ' held by ' + ', '.join(texts) if texts else ', which no task holds'
        text = ', lowered by ' + ', '.join(texts) if texts else ', which no task lowers'
        if texts and missing > 0:
            text += '; no task lowers it for the other %d' % missing
        return text

    def _is_root(self, node):
        """The counter stands higher than what is known could lower it, or no known task holds the
        lock."""
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
        tells_no_more = node.is_idle() or (node.ends_itself and not node.for_lock)
        return '  ' + text + ('' if tells_no_more else self._lowered_by(node))

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
        lines = ['scheduler 0x%x: %d of %d fibers wait' % (s.address, fibers, s.fiber_count)]
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
                text = '  %s waits for %s held by %s' if node.for_lock else \
                    '  %s waits for %s, which %s lowers'
                lines.append(text % (node.what.text(), node.waits,
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
        if s.external_work:
            lines.append('ExternalWork objects, which may lower any of these counters: %d' %
                         s.external_work)
        queued = [task for task in s.tasks if task.where not in ('deferred', 'begins later')]
        if queued and not s.free and all(w.state() != 'running' for w in s.workers):
            lines.append('no fiber is free for the queued tasks: raise '
                         'SchedulerOptions::fibers')
        return lines + s.errors + s.lost_lines()
