import { EventEmitter, once } from 'node:events';
import { withProgress } from '../../../src/cli/progress.ts';
import { expect, test } from '../../support/worker.ts';

test('progress draws its last step even if it came right after the one before', async () => {
  const { stderr } = process;
  const { isTTY } = stderr;
  const write = stderr.write.bind(stderr);
  const drawn: string[] = [];
  const terminal = new EventEmitter();
  stderr.isTTY = true;
  stderr.write = (text: string | Uint8Array) => {
    drawn.push(String(text));
    terminal.emit('drawn');
    return true;
  };
  try {
    await withProgress('Checking', async (show) => {
      show('the machine');
      show('the suite');
      await once(terminal, 'drawn');
    });
  } finally {
    Object.assign(stderr, { isTTY, write });
  }
  expect(drawn).toEqual(['\r\u001B[2KChecking the suite', '\r\u001B[2K']);
});
