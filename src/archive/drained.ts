type Drainable = {
  readonly destroyed: boolean;
  on(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
};

/** Waits until a full stream takes more data. Rejects if the stream closes first. Its `error` event then has the reason. */
export async function drained(stream: Drainable): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onDrain = () => settle(resolve);
    const onClose = () => settle(() => reject(new Error('the stream was closed')));
    const settle = (outcome: () => void) => {
      stream.off('drain', onDrain);
      stream.off('close', onClose);
      outcome();
    };
    stream.on('drain', onDrain);
    stream.on('close', onClose);
    if (stream.destroyed) onClose();
  });
}
