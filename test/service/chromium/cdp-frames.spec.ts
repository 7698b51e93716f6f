import * as fc from 'fast-check';
import { isLong } from '../../support/processes/long-form.ts';
import { eventOf, firstId, idOf, lastId, readCommand } from '../../../src/service/chromium/cdp/cdp-frames.ts';
import { sessionOf, withId, withoutSession, writeCommand } from '../../../src/service/chromium/cdp/cdp-frames.ts';
import { expect, test } from '../../support/worker.ts';

const read = (text: string) => {
  const { params, ...command } = readCommand(Buffer.from(text));
  return { ...command, params: params.toString() };
};

test('parses a CDP command with escapes, white space and any order of keys', () => {
  const command = { id: 1, method: 'A.b', sessionId: '', params: '{}' };
  expect(read('{"id":1,"method":"A.b"}')).toEqual(command);
  expect(read('{"id":1e0,"method":"A.b","sessionId":"","params":{}}')).toEqual(command);
  expect(read(' {\n"params" : {"id":2,"method":"C.d"} ,\t"method":"\\u0041.b" , "id" : 1 } ')).toEqual({
    ...command,
    params: '{"id":2,"method":"C.d"}',
  });
  expect(read('{"\\u006dethod":"A.b","id":-5,"sessionId":"S","params":"}\\"\\\\"}')).toEqual({
    id: -5,
    method: 'A.b',
    sessionId: 'S',
    params: '"}\\"\\\\"',
  });
});

test('refuses CDP commands whose JSON Chromium could read differently', () => {
  for (const [text, code] of [
    ['', -32700],
    ['null', -32700],
    ['[]', -32700],
    ['{}', -32700],
    ['{"id":1,"method":"A.b"', -32700],
    ['{"id":1,"method":"A.b"}}', -32700],
    ['{"id":1,"method":"A.b"}\0{"id":2,"method":"C.d"}', -32700],
    ['{"id":1,"method":"A.b","params":{"a":"\0"}}', -32700],
    ['{"id":1,"method":"A.b","params":{"a":1/**/}}', -32700],
    ['{"id":1,"method":"A.b","params":{/*"*/},"method":"C.d"/*"*/}', -32700],
    ['{"id":1,"method":"A.b","method":"C.d"}', -32700],
    ['{"id":1,"method":"A.b","\\u006dethod":"C.d"}', -32700],
    ['{"id":1,"method":"A.b","params":,"sessionId":"S"}', -32700],
    ['{"id":1,"method":"A.b","params":{}{}}', -32700],
    ['{"id":1,"method":"A.b","params":{},}', -32700],
    ['{"id":1,"method":"A.b","params":{"a":[}]}', -32700],
    ['{"id":1,"method":"A.b","params":{"a"}}', -32700],
    ['{"id":1,"method":"A.\\x62"}', -32700],
    ["{'id':1,'method':'A.b'}", -32700],
    ['{"id":1,"method":"A.b","more":1}', -32600],
    ['{"id":"1","method":"A.b"}', -32600],
    ['{"id":1.5,"method":"A.b"}', -32600],
    ['{"id":2147483648,"method":"A.b"}', -32600],
    ['{"id":1,"method":7}', -32600],
    ['{"id":1,"method":"A.b","sessionId":7}', -32600],
  ] as const)
    expect(() => read(text), text).toThrow(expect.objectContaining({ code }));
});

test('parses every valid CDP command, and writes it with the same meaning', () => {
  const command = fc.record(
    {
      id: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
      method: fc.string({ unit: 'binary' }),
      sessionId: fc.string({ unit: 'binary', minLength: 1 }),
      params: fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()),
    },
    { requiredKeys: ['id', 'method'] },
  );
  fc.assert(
    fc.property(command, fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
      const text = writeCommand(readCommand(Buffer.from(JSON.stringify(value, undefined, indent)))).toString();
      expect(text.endsWith('\0')).toBe(true);
      expect(JSON.parse(text.slice(0, -1))).toEqual({ params: {}, ...JSON.parse(JSON.stringify(value)) });
    }),
    { numRuns: isLong ? 1000 : 30 },
  );
});

test("finds id, event and session of Chromium's CDP messages with any order of keys", () => {
  const decoy = String.raw`"x\",\"sessionId\":\"Z\"}"`;
  const answer = `{"id":${firstId},"result":{"value":${decoy},"sessionId":"Y"},"sessionId":"S1"}`;
  const event = `{"method":"Page.loaded","params":{"id":4,"sessionId":"Y"}}`;
  expect([idOf(Buffer.from(answer)), sessionOf(Buffer.from(answer))]).toEqual([firstId, 'S1']);
  expect([idOf, sessionOf, eventOf].map((find) => find(Buffer.from(event)))).toEqual([
    undefined,
    undefined,
    'Page.loaded',
  ]);
  for (const own of [firstId, lastId])
    for (const id of [0, 7, 2 ** 31 - 1, -(2 ** 31)]) {
      const frame = withId(Buffer.from(`{"id":${own},"result":{"a":1},"sessionId":"S1"}`), id);
      expect(withoutSession(frame, 'S1').toString()).toBe(`{"id":${id},"result":{"a":1}}`);
    }
});

test('parses a CDP message of 20 MB in less than a second', () => {
  for (const text of ['x'.repeat(20e6), String.raw`\"`.repeat(10e6), '['.repeat(10e6) + ']'.repeat(10e6)]) {
    const params = text.startsWith('[') ? text : `{"a":"${text}"}`;
    const frame = Buffer.from(`{"id":1,"params":${params},"method":"A.b"}`);
    const before = process.cpuUsage().user;
    expect(readCommand(frame).params).toHaveLength(params.length);
    expect(process.cpuUsage().user - before).toBeLessThan(1e6);
  }
});
