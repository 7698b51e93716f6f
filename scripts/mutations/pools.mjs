export default {
  'src/service/pools/acquire-queue.ts': {
    tests: ['pools/pool-queue.spec'],
    changes: [
      ['if (isServed || waiters.size === 0)', 'if (waiters.size === 0)'],
      ["lease.tags?.[runTag] ?? ''", "''"],
      ['if (!waiters?.delete(waiter)) return;', 'if (!waiters?.has(waiter)) return;'],
    ],
  },
  'src/service/pools/wait-reason.ts': {
    tests: ['pools/pool-queue.spec'],
    title: 'gives the reason',
    changes: [
      ['starting > 0', 'starting > 1'],
      ['machines.draining > 0', 'machines.draining >= 0'],
      ["machines === 1 ? '1 machine'", "machines === 0 ? '1 machine'"],
    ],
  },
  'src/service/pools/launch-pause.ts': {
    tests: ['pools/launch-pause.spec'],
    changes: [
      ['[500, 10_000]', '[500, 20_000]'],
      ['const toleratedFailures = 2;', 'const toleratedFailures = 3;'],
      ['firstPauseMs * 2 ** this.#failures', 'firstPauseMs'],
      ['if (this.#cancel) return;', ''],
      ['    this.#failures = 0;', ''],
      ["this.#isMissing ? (this.#failure as OperationError).code : 'unavailable'", "'unavailable'"],
      ['|| this.#isMissing;', ';'],
    ],
  },
  'src/service/pools/pool.ts': {
    tests: ['pools/pool.spec'],
    changes: [
      ['leased > 0 && !force', 'leased > 0'],
      ['if (session && signal.aborted) this.takeBack(session);', ''],
      ['if (conflict) throw conflict;', ''],
      ['if (signal.aborted) return undefined;', ''],
      ['reuse && hasPoolsProfile &&', 'hasPoolsProfile &&'],
      ['if (timeoutMs <= 0) waiter.settle(this.#launchFailure());', ''],
      ['this.occupied < this.#config.size;', 'this.occupied <= this.#config.size;'],
      ["this.#surroundings.fill.owesPlace(this, session) ? 'recycled'", "true ? 'recycled'"],
    ],
  },
  'src/service/pools/idle-browsers.ts': {
    tests: ['pools/pool.spec'],
    changes: [['this.#list.unshift(session);', 'this.#list.push(session);']],
  },
  'src/service/pools/pools.ts': {
    tests: ['pools/pool.spec', 'pools/shared-sizes.spec'],
    title: 'refuses a taken name|keeps pools|leaves nothing|size of a shared pool',
    changes: [
      ['if (!isRunning(other)) needs.delete(other);', 'void isRunning(other);'],
      ['pool.acquiredCount < sum ? sum : pool.acquiredCount + count', 'sum'],
      ['b.createdAt - a.createdAt', 'a.createdAt - b.createdAt'],
      ["{ order: 'created_at, id' })) this.#add(stored);", "{ order: 'created_at, id' })) void stored;"],
      ['    this.#refuseTakenName(projectId, config);\n    this.#refuseSize', '    this.#refuseSize'],
    ],
  },
  'src/service/pools/pool-config.ts': {
    tests: ['pools/pool-config.spec'],
    changes: [
      ['body.refresh_on_profile_update ?? body.profile !== undefined', 'body.refresh_on_profile_update ?? false'],
      ['config.refresh_on_profile_update && !config.profile', 'false'],
      ['(changed || config.refresh_on_profile_update)', 'config.refresh_on_profile_update'],
      ['    updated.refresh_on_profile_update = false;', ''],
      ["!id && !name && (id === '' || name === '')", '!id && !name'],
      ['...(name && { name }) };', 'name };'],
      ['...(start_url && { start_url })', 'start_url'],
    ],
  },
  'src/service/pools/fill.ts': {
    tests: ['pools/pool-places.spec'],
    title: 'gives the place of a reused browser',
    changes: [
      ['one.inUse - other.inUse || one.waitingSince', 'one.waitingSince'],
      ['one.waitingSince - other.waitingSince', 'other.waitingSince - one.waitingSince'],
    ],
  },
};
