export default {
  'src/client/failure-policy.ts': {
    tests: ['client/failure-policy.spec'],
    changes: [
      ["neverConnected:  { resend: 'any',        ", "neverConnected:  { resend: 'none',        "],
      [
        "resend: 'repeatable', askAgain: 'while-outage',   mayHaveWorked: true",
        "resend: 'any', askAgain: 'while-outage',   mayHaveWorked: true",
      ],
      ["if (error.code === 'ENOTFOUND' ||", 'if ('],
      ["if (status === 529) return 'full';", ''],
      ["code === undefined ? 'gateway' : 'fault'", "'gateway'"],
      ["|| code === 'no_chromium'", ''],
      ['(status === 429 || status === 503)', 'status === 429'],
      ["resend: 'none', askAgain: 'never' };", "askAgain: 'never' };"],
      ["...(retryAfter !== undefined && { askAgain: 'until-deadline' })", ''],
      ["  'EAI_AGAIN',\n", ''],
      ['status === 408 || status === 500', 'status === 500'],
      ["status >= 400 ? 'refused' : 'invalidAnswer'", "'refused'"],
    ],
  },
  'src/client/retry.ts': {
    tests: ['client/retry.spec', 'client/multipart.spec'],
    changes: [
      ["(resend === 'repeatable' && call.repeatable)", "resend === 'repeatable'"],
      ['!call.oneShot &&', ''],
      ['retries: call.maxRetries,', 'retries: 2,'],
      ['if (delay >= deadline.remaining) return false;', ''],
      ['(error instanceof ServiceError ? error.retryAfter : undefined) ?? backoff', 'backoff'],
    ],
  },
  'src/client/request.ts': {
    tests: ['client/request.spec', 'client/retry.spec'],
    changes: [
      ["value === '..'", 'false'],
      ['milliseconds >= 1 &&', 'milliseconds >= 0 &&'],
      ['Number.isInteger(maxRetries) && maxRetries >= 0', 'maxRetries >= 0'],
      ["value.join(',')", "value.join(';')"],
      ['{ ...headers, ...lowerCased(options.headers) }', '{ ...lowerCased(options.headers), ...headers }'],
      ['if (value === undefined) return;', ''],
    ],
  },
  'src/client/deadline.ts': {
    tests: ['client/deadline.spec', 'client/streaming.spec'],
    changes: [
      ['if (this.remaining > 0) this.start();\n      else this.abort', 'this.abort'],
      ['this.#end = performance.now() + this.#limit;', ''],
    ],
  },
  'src/client/paginate.ts': {
    tests: ['client/paginate.spec'],
    changes: [
      ['items.length > 0 && hasMore', 'hasMore'],
      ['next !== undefined && next === place', 'false'],
      ['&& nextOffset !== 0', ''],
    ],
  },
  'src/client/response.ts': {
    tests: ['client/errors.spec', 'client/retry.spec', 'client/paginate.spec'],
    changes: [
      ['if (status >= 300)', 'if (status >= 400)'],
      ['const longestMessage = 500;', 'const longestMessage = 5000;'],
      ['redacted(await errorText(answer), apiKey)', 'await errorText(answer)'],
      ['seconds * 1000', 'seconds'],
      ['more === undefined ? nextOffset > 0', 'more === undefined ? false'],
      ["value === 'true' || value === 'false' ? value === 'true' : undefined", "value === 'true'"],
      ["?.split('?')[0]", ''],
    ],
  },
  'src/client/event-stream.ts': {
    tests: ['client/event-stream.spec'],
    changes: [
      ['const longestEvent = 16 * 1024 * 1024;', 'const longestEvent = 1024 * 1024;'],
      ['if (!stopped) throw error;', 'throw error;'],
    ],
  },
  'src/client/follow.ts': {
    tests: ['client/follow.spec'],
    changes: [
      ["if (event.event === 'sse_heartbeat') return false;", ''],
      ['!place.isBegun ||', ''],
      ['seq <= this.#last', 'seq < this.#last'],
      ['this.#last ?? this.#since()', 'this.#since()'],
      ['if (this.#states.get(event.event) === state) return false;', ''],
    ],
  },
  'src/client/multipart.ts': {
    tests: ['client/multipart.spec'],
    changes: [
      ['Number(isFile(a)) - Number(isFile(b))', 'Number(isFile(b)) - Number(isFile(a))'],
      [".replaceAll('\"', '%22')", ''],
      ['if (value === undefined) return [];', "if (value === undefined) return [[name, 'undefined']];"],
    ],
  },
};
