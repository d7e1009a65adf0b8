// node_exports.js MODULE...: what run_exports --print writes for each module, as node's engine does it.
//
// Modules must be free of NaN payloads (Binaryen's --denan) and export their memory as "memory". Each transcript is
// preceded by a line "module PATH". A module of a feature that this node has not gets no transcript.
'use strict';
const fs = require('fs');

const ROUNDS = 3;
const INTERESTING = [
  0n, 1n, 0xffffffffffffffffn, 0x80000000n, 0x7fffffffn, 0x8000000000000000n, 0x7fffffffffffffffn, 0xffffn, 42n,
  0x3ff0000000000000n, 0xbff8000000000000n, 0x3fc00000n, 0x7f800000n, 0x7ff0000000000000n, 0xc1e0000000000000n, 65535n,
];
const TRAPS = [
  [/unreachable/, 'unreachable'],
  [/memory access out of bounds/, 'out of bounds memory access'],
  [/divide by zero|remainder by zero/, 'integer divide by zero'],
  [/divide result unrepresentable/, 'integer overflow'],
  [/float unrepresentable/, 'integer overflow or invalid conversion to integer'],
  [/element segment out of bounds/, 'out of bounds table access'],
  [/data segment out of bounds/, 'out of bounds memory access'],
  [/table index is out of bounds|table access out of bounds|index out of bounds/, 'undefined element or out of bounds table access'],
  [/null function or function signature mismatch/, 'uninitialized element or indirect call type mismatch'],
  [/Maximum call stack/, 'call stack exhausted'],
];

const view = new DataView(new ArrayBuffer(8));

function argument(type, seed) {
  const mixed = Math.imul(seed, 2654435761) >>> 8;
  view.setBigUint64(0, INTERESTING[mixed % INTERESTING.length], true);
  switch (type) {
    case 'i32': return view.getInt32(0, true);
    case 'i64': return view.getBigInt64(0, true);
    case 'f32': return view.getFloat32(0, true);
    case 'f64': return view.getFloat64(0, true);
    default: return null;
  }
}

function writeValue(type, value) {
  switch (type) {
    case 'i32': return ` i32:${value >>> 0}`;
    case 'i64': return ` i64:${BigInt.asUintN(64, value)}`;
    case 'f32': view.setFloat32(0, value); return Number.isNaN(value) ? ' f32:nan' : ` f32:${view.getUint32(0).toString(16).padStart(8, '0')}`;
    case 'f64': view.setFloat64(0, value); return Number.isNaN(value) ? ' f64:nan' : ` f64:${view.getBigUint64(0).toString(16).padStart(16, '0')}`;
    default: return value === null ? ' null' : ' ref';
  }
}

const writeValues = (types, values) => types.map((type, i) => writeValue(type, values[i])).join('');

// Function types are not visible to JavaScript: read them from the binary.
function readTypes(bytes) {
  let at = 8;
  const leb = () => { let value = 0, shift = 0, byte; do { byte = bytes[at++]; value += (byte & 127) * 2 ** shift; shift += 7; } while (byte & 128); return value; };
  const name = () => { const length = leb(); at += length; return Buffer.from(bytes.subarray(at - length, at)).toString(); };
  const valtypes = () => Array.from({ length: leb() }, () => ({ 0x7f: 'i32', 0x7e: 'i64', 0x7d: 'f32', 0x7c: 'f64' })[bytes[at++]] || 'ref');
  const limits = () => { const flags = leb(); leb(); if (flags & 1) leb(); };
  const types = [], funcs = [], imports = [], exports = [];
  while (at < bytes.length) {
    const id = bytes[at++], size = leb(), end = at + size;
    if (id === 1) for (let n = leb(); n > 0; n--) { at++; types.push({ params: valtypes(), results: valtypes() }); }
    if (id === 2) for (let n = leb(); n > 0; n--) {
      const entry = { module: name(), name: name(), kind: bytes[at++] };
      if (entry.kind === 0) { entry.type = types[leb()]; funcs.push(entry.type); }
      else if (entry.kind === 1) { at++; limits(); }
      else if (entry.kind === 2) limits();
      else at += 2;
      imports.push(entry);
    }
    if (id === 3) for (let n = leb(); n > 0; n--) funcs.push(types[leb()]);
    if (id === 7) for (let n = leb(); n > 0; n--) exports.push({ name: name(), kind: bytes[at++], type: funcs[leb()] });
    at = end;
  }
  return { imports, exports };
}

function trapText(error) {
  for (const [pattern, text] of TRAPS) if (pattern.test(error.message)) return text;
  return error.message;
}

function run(path) {
  const bytes = fs.readFileSync(path);
  const { imports, exports } = readTypes(bytes);
  const lines = [`module ${path}`];
  const provided = {};
  for (const { module, name, kind, type } of imports) {
    if (kind !== 0) return lines.concat('only functions can be provided');
    (provided[module] ??= {})[name] = (...values) => {
      lines.push(`import ${name}${writeValues(type.params, values)}`);
      const results = type.results.map((result) => (result === 'i64' ? 0n : 0));
      return results.length > 1 ? results : results[0];
    };
  }
  let instance;
  try {
    instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), provided);
  } catch (error) {
    return error instanceof WebAssembly.CompileError ? [] : lines.concat(`instance ${trapText(error)}`);
  }
  for (let round = 0; round < ROUNDS; round++) {
    exports.forEach(({ name, kind, type }, index) => {
      if (kind !== 0 || name === 'hangLimitInitializer') return;
      if (instance.exports.hangLimitInitializer) instance.exports.hangLimitInitializer();
      const values = type.params.map((param, i) => argument(param, 31 * index + 1009 * round + i));
      lines.push(`call ${name}${writeValues(type.params, values)}`);
      try {
        const result = instance.exports[name](...values);
        lines.push(`returns${writeValues(type.results, type.results.length > 1 ? result : [result])}`);
      } catch (error) {
        lines.push(`traps ${trapText(error)}`);
      }
    });
  }
  if (instance.exports.memory) {
    const memory = new Uint8Array(instance.exports.memory.buffer);
    let hash = 2166136261;
    for (let i = 0; i < memory.length; i++) if (memory[i]) hash = Math.imul(hash ^ memory[i], 16777619) ^ i;
    lines.push(`memory ${memory.length} ${(hash >>> 0).toString(16).padStart(8, '0')}`);
  }
  return lines;
}

for (const path of process.argv.slice(2)) process.stdout.write(run(path).map((line) => line + '\n').join(''));
