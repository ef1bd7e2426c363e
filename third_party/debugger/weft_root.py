# weft_debug_root, and reading the memory of a stopped process or of a core dump. See
# source/scheduler/state/debug_root.h. Knows neither gdb nor lldb.
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


class Fields(dict):
    def __missing__(self, name):
        raise NoRoot('weft_debug_root does not know %s: use the commands of that version of weft' %
                     name)


class View:
    """A copy of an object whose members are known by name."""

    def __init__(self, fields, prefix, data):
        self.fields, self.prefix, self.data = fields, prefix, data

    def number(self, name, size, index=0):
        at = self.fields[self.prefix + name] + index * size
        return int.from_bytes(self.data[at:at + size], 'little')

    def u8(self, name):
        return self.number(name, 1)

    def u32(self, name):
        return self.number(name, 4)

    def u64(self, name):
        return self.number(name, 8)

    def all(self, name):
        """The pointers of an array."""
        return [self.number(name, 8, i) for i in range(self.fields[self.prefix + name + 'Count'])]


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
        self.fields = Fields(self._records(fields, count))
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

    def is_lost(self, handle):
        """Returns true if there is no code at which the context could continue."""
        places = [at for name, at in self.registers if name in ('rip', 'pc')]
        try:
            return bool(places) and self.memory.u64(handle + places[0]) == 0
        except Unreadable:
            return True

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
