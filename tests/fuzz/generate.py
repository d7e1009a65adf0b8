"""generate: random valid modules, written as a stack machine's compiler never would.

    module_bytes(seed, denan)

Binaryen's modules come from trees, so they have no block with parameters, leave nothing on the stack across a block's
boundary, and (in Debian's version) no reference types. Those are where a translator that keeps values in registers,
folds locals and constants into operands and fuses comparisons goes wrong. This generator walks the stack machine
itself: it knows the types on the stack and at each step emits any instruction that they allow. Tables, references, bulk
memory, multi-value blocks, br_table, tail calls and code after a jump are all in.

Instructions come from vm/wasm/opcodes.def, so a new numeric instruction is tested as soon as it has a line there.

Every module ends: each call and each turn of a loop takes one from a global that hangLimitInitializer sets back, and a
trap ends what uses it up. With `denan`, a NaN becomes 0 wherever one could arise, as Binaryen's --denan does it.
"""
import pathlib
import random
import re
import struct

OPCODES = pathlib.Path(__file__).parents[2] / "vm" / "wasm" / "opcodes.def"
VALTYPES = {"i": 0x7F, "I": 0x7E, "f": 0x7D, "F": 0x7C, "r": 0x70, "e": 0x6F}
NUMBERS = "iIfF"
CONST = {"i": 0x41, "I": 0x42, "f": 0x43, "F": 0x44}
EQUAL = {"f": 0x5B, "F": 0x61}
FLOAT_BYTES = {"f": 4, "F": 8}
EMPTY, FUEL = 0x40, 60
RARE = ("div", "rem", "trunc_f")  # they trap on most operands
PAGES, TABLE_SIZE = 1, 12
END = 0x0B


def read_opcodes():
    """(numeric: [(encoding, params, result, name)], loads: ..., stores: ...) as opcodes.def has them."""
    numeric, loads, stores = [], [], []
    line = re.compile(r'^OP\((\w+),\s*"[^"]*",\s*(0x\w+),\s*(0x\w+),\s*(\w+),\s*"([^"]*)"', re.MULTILINE)
    for name, prefix, code, immediate, signature in line.findall(OPCODES.read_text()):
        params, _, results = signature.partition(":")
        prefix, code = int(prefix, 16), int(code, 16)
        encoding = bytes([prefix]) + unsigned(code) if prefix else bytes([code])
        if not set(params + results) <= set(NUMBERS + "a"):
            continue
        if immediate == "NONE" and len(results) == 1 and params and "a" not in params:
            numeric.append((encoding, params, results, name))
        elif immediate.startswith("MEMARG") and results:
            loads.append((encoding, results))
        elif immediate.startswith("MEMARG"):
            stores.append((encoding, params[1]))
    return numeric, loads, stores


def is_rare(name):
    return any(part in name for part in RARE)


def unsigned(value):
    encoded = bytearray()
    while True:
        byte, value = value & 127, value >> 7
        encoded.append(byte | (128 if value else 0))
        if not value:
            return bytes(encoded)


def signed(value):
    encoded = bytearray()
    while True:
        byte, value = value & 127, value >> 7
        done = value == (-1 if byte & 64 else 0)
        encoded.append(byte | (0 if done else 128))
        if done:
            return bytes(encoded)


def vector(items):
    items = list(items)
    return unsigned(len(items)) + b"".join(items)


def section(number, contents):
    return bytes([number]) + unsigned(len(contents)) + contents


NUMERIC, LOADS, STORES = read_opcodes()
LOGS = list(NUMBERS)  # the imports: one function a number type, functions 0 to 3


class Frame:
    """A block that is open: what a branch to it takes, what it leaves, and where its stack begins."""

    def __init__(self, label, results, base):
        self.label, self.results, self.base = label, results, base


class Function:
    """One body. `stack` is the types of the operands, bottom first."""

    def __init__(self, module, params, results):
        self.module, self.random = module, module.random
        self.results = results
        self.locals = params + "".join(self.random.choices("iIfFre", k=self.random.randrange(6))) + "iIfF"
        self.scratch = {letter: len(self.locals) - 4 + index for index, letter in enumerate(NUMBERS)}
        self.param_count = len(params)
        self.code = bytearray()
        self.stack = []
        self.frames = [Frame(results, results, 0)]

    def emit(self, *parts):
        for part in parts:
            self.code += bytes([part]) if isinstance(part, int) else part

    # ---- values ----

    def number(self, letter):
        if letter in "iI":
            width = 32 if letter == "i" else 64
            least = -2 ** (width - 1)
            value = self.random.choice([self.random.randrange(-4, 70), self.random.getrandbits(width) + least, least,
                                        -least - 1, 1 << self.random.randrange(width - 1)])
            return signed(value)
        if self.random.random() < 0.7 or self.module.denan:
            value = self.random.choice([1.0, -0.0, -10.0, float("inf"), 1e-45, 2.0 ** 32, 2.0 ** 64, 0.1])
            return struct.pack({"f": "<f", "F": "<d"}[letter], value)
        return self.random.randbytes(FLOAT_BYTES[letter])

    def push(self, letter):
        """A value of the type: from a local, a global or a constant."""
        locals_of_type = [index for index, other in enumerate(self.locals) if other == letter]
        globals_of_type = [index for index, (other, _) in enumerate(self.module.globals, 1) if other == letter]
        choice = self.random.random()
        if locals_of_type and choice < 0.5:
            self.emit(0x20, unsigned(self.random.choice(locals_of_type)))
        elif globals_of_type and choice < 0.6:
            self.emit(0x23, unsigned(self.random.choice(globals_of_type)))
        elif letter in NUMBERS:
            self.emit(CONST[letter], self.number(letter))
        elif letter == "r" and choice < 0.8:
            self.emit(0xD2, unsigned(self.module.random_function()))
        else:
            self.emit(0xD0, VALTYPES[letter])
        self.stack.append(letter)

    def push_all(self, letters):
        """Makes the top of the stack `letters`, using what lies there already where it fits."""
        available = "".join(self.stack[self.frames[-1].base:])
        fits = next(count for count in range(len(letters), -1, -1) if available.endswith(letters[:count]))
        for letter in letters[fits:]:
            self.push(letter)

    def pop(self, count):
        if count:
            del self.stack[-count:]

    def top(self, count):
        """The `count` types on top, or None where the block has not so many."""
        if len(self.stack) - self.frames[-1].base < count:
            return None
        return "".join(self.stack[len(self.stack) - count:])

    def denan(self, letter):
        """Replaces the float on top by 0 where it is a NaN, and in the scratch local too: others may read that."""
        if self.module.denan and letter in EQUAL:
            local = unsigned(self.scratch[letter])
            self.emit(0x21, local, 0x20, local, CONST[letter], bytes(FLOAT_BYTES[letter]), 0x20, local, 0x20, local,
                      EQUAL[letter], 0x1B, 0x22, local)

    # ---- instructions ----

    def step_push(self):
        self.push(self.random.choice("iiiIIfFre"))

    def step_numeric(self):
        for _ in range(30):
            encoding, params, result, name = self.random.choice(NUMERIC)
            if self.top(len(params)) == params and (not is_rare(name) or self.random.random() < 0.2):
                self.emit(encoding)
                self.pop(len(params))
                self.denan(result)
                self.stack.append(result)
                return

    def step_binary_of_pushed(self):
        encoding, params, result, name = self.random.choice(NUMERIC)
        if not is_rare(name):
            self.push_all(params)
            self.emit(encoding)
            self.pop(len(params))
            self.denan(result)
            self.stack.append(result)

    def step_local(self):
        top = self.top(1)
        settable = [index for index, letter in enumerate(self.locals) if letter == top]
        if settable:
            tee = self.random.random() < 0.4
            self.emit(0x22 if tee else 0x21, unsigned(self.random.choice(settable)))
            self.pop(0 if tee else 1)

    def step_global(self):
        settable = [index for index, entry in enumerate(self.module.globals, 1) if entry == (self.top(1), True)]
        if settable:
            self.emit(0x24, unsigned(self.random.choice(settable)))
            self.pop(1)

    def step_drop(self):
        if self.top(1):
            self.emit(0x1A)
            self.pop(1)

    def step_select(self):
        top = self.top(2)
        if top and top[0] == top[1]:
            self.push_all(top + "i")
            untyped = top[0] in NUMBERS and self.random.random() < 0.8
            self.emit(0x1B if untyped else bytes([0x1C, 1, VALTYPES[top[0]]]))
            self.pop(2)

    def step_reference(self):
        if self.top(1) in ("r", "e"):
            self.emit(0xD1)
            self.pop(1)
            self.stack.append("i")

    def address(self):
        """Pushes an address (or masks the i32 on top), mostly one in memory."""
        self.push_all("i")
        if self.random.random() < 0.95:
            self.emit(CONST["i"], signed(0xFFF0), 0x71)

    def memarg(self):
        return unsigned(0) + unsigned(self.random.choice([0, 0, 0, 1, 4, 8, 4096, 65535, 2 ** 32 - 1]))

    def step_load(self):
        encoding, result = self.random.choice(LOADS)
        self.address()
        self.emit(encoding, self.memarg())
        self.pop(1)
        self.denan(result)
        self.stack.append(result)

    def step_store(self):
        encoding, letter = self.random.choice(STORES)
        if self.top(1) == letter:
            local = unsigned(self.scratch[letter])
            self.emit(0x21, local)
            self.pop(1)
            self.address()
            self.emit(0x20, local)
        else:
            self.address()
            self.push(letter)
            self.pop(1)
        self.emit(encoding, self.memarg())
        self.pop(1)

    def step_bulk(self):
        """An instruction on whole ranges of memory or table, with constants that are mostly in range."""
        name = self.random.choice(["memory.size", "memory.grow", "memory.init", "data.drop", "memory.copy",
                                   "memory.fill", "table.get", "table.set", "table.init", "elem.drop", "table.copy",
                                   "table.grow", "table.size", "table.fill"])
        table = self.random.randrange(2)
        element = "re"[table]
        limit = TABLE_SIZE if "table" in name else 4096

        def push_range(middle="i"):
            for letter in ("i", middle, "i"):
                if letter == "i":
                    self.emit(CONST["i"], signed(self.random.randrange(limit // 2)))
                else:
                    self.push(letter)
                    self.pop(1)

        if name == "memory.size":
            self.emit(0x3F, 0)
            self.stack.append("i")
        elif name == "memory.grow":
            self.emit(CONST["i"], signed(self.random.randrange(3)), 0x40, 0)
            self.stack.append("i")
        elif name == "memory.init":
            limit = 32
            push_range()
            self.emit(0xFC, 8, self.random.randrange(2), 0)
        elif name == "data.drop":
            self.emit(0xFC, 9, self.random.randrange(2))
        elif name == "memory.copy":
            push_range()
            self.emit(0xFC, 10, 0, 0)
        elif name == "memory.fill":
            push_range()
            self.emit(0xFC, 11, 0)
        elif name == "table.get":
            self.emit(CONST["i"], signed(self.random.randrange(limit)), 0x25, table)
            self.stack.append(element)
        elif name == "table.set":
            self.emit(CONST["i"], signed(self.random.randrange(limit)))
            self.push(element)
            self.emit(0x26, table)
            self.pop(1)
        elif name == "table.init":
            push_range()
            self.emit(0xFC, 12, 1, 0)
        elif name == "elem.drop":
            self.emit(0xFC, 13, 1)
        elif name == "table.copy":
            push_range()
            self.emit(0xFC, 14, table, table)
        elif name == "table.grow":
            self.push(element)
            self.emit(CONST["i"], signed(self.random.randrange(3)), 0xFC, 15, table)
            self.pop(1)
            self.stack.append("i")
        elif name == "table.size":
            self.emit(0xFC, 16, table)
            self.stack.append("i")
        elif name == "table.fill":
            push_range(element)
            self.emit(0xFC, 17, table)

    def step_call(self):
        index = self.module.random_function()
        params, results = self.module.signature(index)
        is_tail = results == self.results and self.random.random() < 0.3
        self.push_all(params)
        self.pop(len(params))
        if self.random.random() < 0.4:
            at = self.random.randrange(TABLE_SIZE) if self.random.random() < 0.5 else self.module.slot_of(index)
            typeidx = self.module.typeidx(params, results)
            self.emit(CONST["i"], signed(at), 0x13 if is_tail else 0x11, unsigned(typeidx), 0)
        else:
            self.emit(0x12 if is_tail else 0x10, unsigned(index))
        if is_tail:
            return True
        self.stack += results

    # ---- control ----

    def burn(self):
        """Takes one from the fuel; traps where there is none."""
        self.emit(0x23, 0, 0x45, 0x04, EMPTY, 0x00, END, 0x23, 0, CONST["i"], 1, 0x6B, 0x24, 0)

    def step_branch(self):
        depth = self.random.randrange(len(self.frames))
        label = self.frames[-1 - depth].label
        choice = self.random.random()
        if choice < 0.7:
            self.push_all(label)
            self.condition()
            self.emit(0x0D, unsigned(depth))
        elif choice < 0.85:
            self.push_all(label)
            same = [other for other in range(len(self.frames)) if self.frames[-1 - other].label == label]
            self.condition()
            self.emit(0x0E, vector(unsigned(self.random.choice(same)) for _ in range(self.random.randrange(5))),
                      unsigned(depth))
            return True
        elif choice < 0.95:
            self.push_all(label)
            self.emit(0x0C, unsigned(depth))
            return True
        elif self.random.random() < 0.9:
            self.push_all(self.results)
            self.emit(0x0F)
            return True
        else:
            self.emit(0x00)
            return True

    def condition(self):
        """An i32 that is then taken away: pushed, or made by a comparison right before its use."""
        encoding, params, result, name = self.random.choice(NUMERIC)
        if result == "i" and self.random.random() < 0.7 and not is_rare(name):
            for letter in params:
                self.push(letter)
            self.emit(encoding)
            self.pop(len(params))
        else:
            self.push("i")
            self.pop(1)

    def step_block(self):
        kind = self.random.choice([0x02, 0x03, 0x04])
        count = self.random.randrange(min(3, len(self.stack) - self.frames[-1].base) + 1)
        params = self.top(count)
        results = "".join(self.random.choices("iIfFre", k=self.random.choice([0, 0, 1, 1, 2, 4])))
        if kind == 0x04:
            self.condition()
        if not params and len(results) <= 1:
            self.emit(kind, VALTYPES[results] if results else EMPTY)
        else:
            self.emit(kind, signed(self.module.typeidx(params, results)))
        base = len(self.stack) - count
        self.frames.append(Frame(params if kind == 0x03 else results, results, base))
        if kind == 0x03:
            self.burn()
        self.body()
        if kind == 0x04 and (params != results or self.random.random() < 0.7):
            self.stack[base:] = params
            self.emit(0x05)
            self.body()
        self.emit(END)
        self.frames.pop()
        self.stack[base:] = results

    STEPS = ([step_push] * 8 + [step_numeric] * 10 + [step_binary_of_pushed] * 6 + [step_local] * 6 +
             [step_global] * 2 + [step_drop] + [step_select] * 2 + [step_reference] + [step_load] * 3 +
             [step_store] * 3 + [step_bulk] * 2 + [step_call] * 3 + [step_branch] * 3 + [step_block] * 4)

    def body(self):
        """Steps, then what the innermost frame has to leave. A step that returns True has left the block."""
        for _ in range(self.random.choice([1, 3, 6, 12, 24])):
            self.module.budget -= 1
            if self.module.budget < 0 or len(self.frames) > 8:
                break
            if self.random.choice(self.STEPS)(self):
                self.dead_code()
                return
        frame = self.frames[-1]
        have = "".join(self.stack[frame.base:])
        keep = next(count for count in range(len(have), -1, -1) if frame.results.startswith(have[:count]))
        while len(self.stack) - frame.base > keep:
            self.emit(0x1A)
            self.pop(1)
        for letter in frame.results[keep:]:
            self.push(letter)

    def dead_code(self):
        """After a jump anything may be taken from the stack (§3.3.9)."""
        self.emit(self.random.choice([b"", b"\x6a\x1a", b"\x1b\x1a", b"\x7c\x1a", b"\x0c\x00", b"\x45\x1a", b"\x00"]))

    def encode(self):
        self.burn()
        for index in range(self.param_count):
            if self.module.denan and self.locals[index] in EQUAL:
                self.emit(0x20, unsigned(index))
                self.denan(self.locals[index])
                self.emit(0x21, unsigned(index))
        self.body()
        self.emit(END)
        declarations = vector(unsigned(1) + bytes([VALTYPES[letter]]) for letter in self.locals[self.param_count:])
        body = declarations + bytes(self.code)
        return unsigned(len(body)) + body


class Module:
    def __init__(self, seed, denan):
        self.random = random.Random(seed)
        self.denan = denan
        self.types = []
        self.budget = self.random.choice([30, 100, 300, 800])
        self.functions = [(letter, "") for letter in LOGS] + [
            ("".join(self.random.choices("iIfFre", k=self.random.randrange(4))),
             "".join(self.random.choices("iIfFre", k=self.random.choice([0, 1, 1, 1, 2, 3]))))
            for _ in range(self.random.randrange(2, 9))]
        self.globals = [(self.random.choice("iIfFre"), self.random.random() < 0.8)
                        for _ in range(self.random.randrange(6))]
        self.slots = [self.random_function() for _ in range(TABLE_SIZE - 2)]

    def random_function(self):
        first = 0 if self.random.random() < 0.15 else len(LOGS)
        return self.random.randrange(first, len(self.functions))

    def signature(self, index):
        return self.functions[index]

    def slot_of(self, index):
        return self.slots.index(index) if index in self.slots else TABLE_SIZE - 1

    def typeidx(self, params, results):
        if (params, results) not in self.types:
            self.types.append((params, results))
        return self.types.index((params, results))

    def global_init(self, letter):
        if letter in NUMBERS:
            return bytes([CONST[letter]]) + Function(self, "", "").number(letter) + bytes([END])
        return bytes([0xD0, VALTYPES[letter], END])

    def encode(self):
        bodies = [Function(self, *signature).encode() for signature in self.functions[len(LOGS):]]
        reset = bytes([0, CONST["i"]]) + signed(FUEL) + bytes([0x24, 0, END])
        bodies.append(unsigned(len(reset)) + reset)
        reset_index = len(self.functions)
        indices = [self.typeidx(*signature) for signature in self.functions] + [self.typeidx("", "")]

        def name(text):
            return vector(bytes([byte]) for byte in text.encode())

        def valtypes(letters):
            return vector(bytes([VALTYPES[letter]]) for letter in letters)

        imports = [name("host") + name(f"log-{letter}") + b"\0" + unsigned(index)
                   for letter, index in zip(LOGS, indices)]
        tables = [bytes([VALTYPES[letter], 1, TABLE_SIZE, TABLE_SIZE + 8]) for letter in "re"]
        globals_ = [bytes([VALTYPES["i"], 1, CONST["i"]]) + signed(FUEL) + bytes([END])] + [
            bytes([VALTYPES[letter], is_mutable]) + self.global_init(letter) for letter, is_mutable in self.globals]
        exports = [name("memory") + b"\2\0", name("hangLimitInitializer") + b"\0" + unsigned(reset_index)] + [
            name(f"f{index}") + b"\0" + unsigned(index) for index in range(len(LOGS), reset_index)]
        at_zero = bytes([CONST["i"], 0, END])
        elements = [b"\0" + at_zero + vector(map(unsigned, self.slots)),
                    b"\1\0" + vector(map(unsigned, self.slots)),
                    b"\3\0" + vector(map(unsigned, range(reset_index + 1)))]
        data = [b"\0" + at_zero + vector([b"Glassbox"[i:i + 1] for i in range(8)]), b"\1" + vector([b"\x5a"] * 32)]
        return b"\0asm\1\0\0\0" + b"".join([
            section(1, vector(b"\x60" + valtypes(params) + valtypes(results) for params, results in self.types)),
            section(2, vector(imports)),
            section(3, vector(map(unsigned, indices[len(LOGS):]))),
            section(4, vector(tables)),
            section(5, vector([bytes([1, PAGES, PAGES + 3])])),
            section(6, vector(globals_)),
            section(7, vector(exports)),
            section(9, vector(elements)),
            section(12, unsigned(len(data))),
            section(10, vector(bodies)),
            section(11, vector(data)),
        ])


def module_bytes(seed, denan):
    return Module(seed, denan).encode()
