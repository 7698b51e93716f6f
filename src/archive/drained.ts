/** What is used of a tar-stream stream. */
type Drainable = {
  readonly destroyed: boolean;
  on(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
};

/** Resolves when the stream takes more. Rejects when it is closed before that; why, its own `error` event says. */
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
