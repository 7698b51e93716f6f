export default {
  'src/archive/exclude.ts': {
    tests: ['archive/pack.spec'],
    title: 'leaves',
    changes: [
      ['(Lock|Socket|Cookie)', '(Lock|Socket)'],
      ['(withoutCaches && caches.test(name))', 'caches.test(name)'],
      ['|\\.dmp$/', '/'],
    ],
  },
  'src/archive/walk.ts': {
    tests: ['archive/pack.spec'],
    changes: [
      ['if (isExcluded(name)) continue;', ''],
      ["if (dirent.name.includes('\\ufffd'))", 'if (false)'],
      ['a.name < b.name ? -1 : 1', 'a.name < b.name ? 1 : -1'],
    ],
  },
  'src/archive/limits.ts': {
    tests: ['archive/refusals.spec'],
    changes: [
      ['this.#entryCount > this.#entries', 'this.#entryCount >= this.#entries'],
      [
        'this.#contentBytes > this.#bytes',
        'this.#contentBytes >= this.#bytes',
        'with the header, that tar is over the limit, too',
      ],
      ['const smallBytes = 32 * 1024 ** 2;', 'const smallBytes = 1024 ** 2;'],
      ['ratio = 200', 'ratio = 2000'],
      ['if (chunk.length > left)', 'if (false)'],
    ],
  },
  'src/archive/extraction.ts': {
    tests: ['archive/extract.spec', 'archive/refusals.spec'],
    changes: [
      ['isExcluded(entry) ||', ''],
      ['|| !this.#only.test(entry)', ''],
      [' & ~process.umask()', ''],
      ['(mode & 0o777) | 0o600', '(mode & 0o777) | 0o644'],
      ['this.#limits.count(name, header.size);', ''],
    ],
  },
  'src/archive/extract.ts': {
    tests: ['archive/extract.spec'],
    changes: [
      ['names.length > 0 && !replace', 'names.length > 0'],
      ['    await refuseInUse(target, replace);', ''],
      ['if (!(await refuseInUse(target, replace))) return', 'if (!replace) return'],
      ['await rm(temporary, { recursive: true, force: true });', ''],
    ],
  },
  'src/archive/entry-tree.ts': {
    tests: ['archive/refusals.spec'],
    changes: [
      ["segments.includes('..')", 'false'],
      ['path.posix.isAbsolute(target) || path.isAbsolute(target)', 'false'],
      ["this.#find(place)?.kind === 'symlink'", 'false'],
      ["segment === '..' && place.pop() === undefined", 'false'],
      [".normalize('NFC').toLowerCase()", ".normalize('NFC')"],
      [".normalize('NFC').toLowerCase()", '.toLowerCase()'],
      ["if (node.kind !== 'directory')", "if (node.kind === 'file')"],
      ['if (node.isNamed) throw', 'if (false) throw'],
      ['const longestName = 1024;', 'const longestName = 4096;'],
      ['const longestSegment = 255;', 'const longestSegment = 1024;'],
      ['if (!isLast) this.#limits.count(entry, 0);', ''],
      ["this.#find(segments)?.kind === 'file'", 'true'],
    ],
  },
  'src/archive/seal.ts': {
    tests: ['archive/damage.spec'],
    changes: [
      ['!this.#hash!.digest().equals(frame.subarray(-32))', 'false'],
      ["if (this.#state === 'marked')", 'if (false)'],
      ["if (this.#state === 'sealed')", 'if (false)'],
      ["if (this.#state !== 'marked')", 'if (false)'],
    ],
  },
  'src/archive/tar-entries.ts': {
    tests: ['archive/damage.spec'],
    changes: [
      ['end - this.#mark < 2 * blockBytes', 'end - this.#mark < blockBytes'],
      ['if (!isZero(this.#rest)) throw goesOn();', ''],
      ['!Number.isSafeInteger(header.size)', 'false'],
    ],
  },
  'src/archive/storage-origins.ts': {
    tests: ['archive/storage-origins.spec'],
    changes: [
      ["port === '0' ? ''", "port === '80' ? ''"],
      ["if (name.endsWith('.ldb'))", 'if (false)'],
      ["if (name.endsWith('.log'))", 'if (false)'],
      ['[...new Set(origins)]', 'origins'],
    ],
  },
};
