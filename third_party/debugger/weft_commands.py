# The commands, without a debugger. weft_gdb.py and weft_lldb.py give them a Root and print the
# lines.
from weft_root import NoRoot, Unreadable
from weft_scheduler import Scheduler
from weft_why import Why


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
            lines.append('%d fiber%s %s: %s%s' % (len(fibers), 's' * (len(fibers) > 1), state,
                                                  names, ', ...' * (len(fibers) > 16)))
            lines += lines_of(frames, full)
        for s in self.schedulers:
            lines += s.lost_lines()
        return lines

    def fibers_lines(self, everything, place_of=None):
        """`place_of(fiber)` returns the function in which a fiber stands, or ''."""
        lines = list(self.errors)
        for s in self.schedulers:
            lines.append('scheduler 0x%x: %d workers, %d fibers, %d free' %
                         (s.address, s.worker_count, s.fiber_count, len(s.free)))
            rows = []
            for fiber in (s.fibers if everything else s.in_use()):
                where = ''
                if fiber.state in ('waiting', 'blocked'):
                    where = 'for ' + s.describe_wait(fiber)
                elif fiber.worker:
                    where = 'on worker %d' % fiber.worker.index
                if fiber.has_task() and fiber.is_pinned():
                    where += (', ' if where else '') + 'pinned to worker %d' % fiber.pinned_to
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
            lines.append('scheduler 0x%x%s' % (s.address, s.end_text()))
            rows = []
            for w in s.workers:
                state = w.state()
                if w.inactive:
                    state += ', inactive'
                elif w.restricted:
                    state += ', restricted'
                if w.in_hook:
                    state += ', in a hook'
                runs = w.fiber.text() if w.fiber and w.fiber.has_task() else ''
                name = str(w.index) + (' (attached)' if w.index >= s.worker_count else '')
                rows.append((name, thread_of(w) if thread_of else '', state, runs,
                             '/'.join(map(str, w.tasks)), str(w.claimed), str(w.pinned),
                             str(w.ready), str(w.finished)))
            lines += table(('worker', 'thread', 'state', 'runs', 'tasks high/normal/low', 'claimed',
                            'pinned', 'ready', 'finished'), rows)
            for e in s.external:
                lines.append('%s waits for %s' % (e.text(), s.describe_wait(e)))
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
    return ['  ' + '  '.join(row[i].ljust(widths[i]) for i in used).rstrip()
            for row in [titles] + rows]
