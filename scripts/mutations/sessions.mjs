export default {
  'src/service/sessions/idle-timeout.ts': {
    tests: ['sessions/idle-timeout.spec', 'sessions/session.spec'],
    title: 'idle timeout|timer fires late',
    changes: [
      ['const lateMs = 1000;', 'const lateMs = 2000;'],
      ['const graceMs = 6000;', 'const graceMs = 60_000;'],
      ['this.#activeAt = Math.min(this.#activeAt, now);', ''],
      ['this.stop();\n    this.touch();', 'this.touch();'],
      ['this.touch();\n    this.#check', 'this.#check'],
    ],
  },
  'src/service/sessions/session-settings.ts': {
    tests: ['pools/pool-config.spec'],
    changes: [
      ['pixels > 1280 * 800 ? 25 : 60', 'pixels >= 1280 * 800 ? 25 : 60'],
      ['if (pixels > 1920 * 1200) return 10;', 'if (pixels >= 1920 * 1200) return 10;'],
      ['request.headless ?? !hasDisplay', 'request.headless ?? true'],
      ['if (!headless && !hasDisplay)', 'if (false)'],
      ['gpu: request.gpu === true', 'gpu: false'],
      ["error.code === 'not_found') throw invalidField", "error.code === 'conflict') throw invalidField"],
      ['refresh_rate: refresh_rate ?? refreshRate', 'refresh_rate: refreshRate'],
    ],
  },
  'src/service/sessions/sessions.ts': {
    tests: ['sessions/session.spec', 'sessions/conflicts.spec'],
    title: 'has an id, a token|ends once|end of all sessions|names of live sessions',
    changes: [
      ['session && sameToken(token, session.lease.token) ? session', 'session ? session'],
      ['      live.delete(session);\n', ''],
      ['session.lease.name === name && session !== own', 'session.lease.name === name'],
      ['await Promise.allSettled(this.#starting);', ''],
      ['return session?.alive ? session : undefined;', 'return session;'],
      ['if (session?.alive) return session;', 'if (session) return session;'],
      ['      this.refuseTakenName(settings.projectId, name);\n    } catch', '    } catch'],
      ['await session.discard();', ''],
    ],
  },
  'src/service/sessions/confined-path.ts': {
    tests: ['files/confined-path.spec'],
    title: 'malformed|every file operation',
    changes: [
      ["if (!sessionPath.startsWith('/'))", 'if (false)'],
      ["sessionPath.includes('\\0')", 'false'],
      ['else if (segments.pop() === undefined) throw leavesRoot(sessionPath);', 'else segments.pop();'],
      ['if (!isWithin(root, target)) throw leavesRoot(sessionPath);', ''],
      ['if (current === root) throw leavesRoot(sessionPath);', ''],
      ['const longestName = 255;', 'const longestName = 2550;'],
      ['hostPath.startsWith(root + path.sep)', 'hostPath.startsWith(root)'],
    ],
  },
};
