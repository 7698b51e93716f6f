import { ALL_FORMATS, BufferSource, EncodedPacketSink, Input } from 'mediabunny';
import type { Frame, Muxer, Track, Write } from '../../../src/service/replays/muxer.browser.ts';
import { Mp4Muxer } from '../../../src/service/replays/mp4.browser.ts';
import { WebmMuxer } from '../../../src/service/replays/webm.browser.ts';
import { randomOf } from '../../support/processes/random.ts';
import { expect, test } from '../../support/worker.ts';

/** A file that is written in parts. */
class WrittenFile {
  bytes = new Uint8Array();

  readonly write: Write = (position, data) => {
    const end = position + data.length;
    if (position > this.bytes.length) throw new Error(`a gap before ${position}`);
    const bytes = new Uint8Array(Math.max(end, this.bytes.length));
    bytes.set(this.bytes);
    bytes.set(data, position);
    this.bytes = bytes;
  };
}

/** A decoder's settings for H.264, Baseline, 320 × 180. */
const avc = Buffer.from(
  '0142c01effe1001867 42c01eda0280bfe5c044000003000400000300f03c58ba8001000468ce0fc8'.replace(' ', ''),
  'hex',
);

const kinds: Record<string, (track: Track, write: Write) => Muxer> = {
  MP4: (track, write) => new Mp4Muxer(track, write),
  'WebM with VP9': (track, write) => new WebmMuxer('V_VP9', track, write),
  'WebM with VP8': (track, write) => new WebmMuxer('V_VP8', track, write),
};

for (const [kind, mux] of Object.entries(kinds)) {
  const track: Track = {
    width: 320,
    height: 180,
    description: kind === 'MP4' ? avc : undefined,
    color: { primaries: 'bt709', transfer: 'iec61966-2-1', matrix: 'smpte170m', fullRange: false },
  };

  test(`${kind}: an independent library reads each frame and the settings, without an end to the last key frame`, async () => {
    const file = new WrittenFile();
    const muxer = mux(track, file.write);
    const frames = someFrames();
    for (const frame of frames) muxer.add(frame);
    const lastKey = frames.findLastIndex(({ isKey }) => isKey);
    expect((await read(file.bytes)).packets).toEqual(frames.slice(0, lastKey).map(packetOf));
    muxer.finish();
    const { packets, settings, duration } = await read(file.bytes);
    expect(packets).toEqual(frames.map(packetOf));
    expect(duration).toBeCloseTo((frames.at(-1)!.at + frames.at(-1)!.duration) / 1000, 5);
    expect(settings).toMatchObject({ codedWidth: 320, codedHeight: 180, colorSpace: track.color });
  });
}

/** With short and long breaks: the last ones are of hours. */
function someFrames(): Frame[] {
  const random = randomOf(1);
  const frames: Frame[] = [];
  let at = 0;
  for (let index = 0; index < 200; index++) {
    const isKey = index % 7 === 0;
    const data = Uint8Array.from({ length: 1 + random(index % 50 === 0 ? 100_000 : 300) }, () => random(256));
    frames.push({ at, duration: 1, isKey, data });
    const nextIsKey = (index + 1) % 7 === 0;
    at += nextIsKey && index > 150 ? 36_000_000 : 1 + random(2000);
  }
  return frames;
}

function packetOf({ at, isKey, data }: Frame) {
  return { at, isKey, data };
}

async function read(bytes: Uint8Array) {
  using input = new Input({ formats: ALL_FORMATS, source: new BufferSource(bytes) });
  const track = (await input.getPrimaryVideoTrack())!;
  const packets: ReturnType<typeof packetOf>[] = [];
  for await (const { timestamp, type, data } of new EncodedPacketSink(track).packets())
    packets.push({ at: Math.round(timestamp * 1000), isKey: type === 'key', data });
  // WebM says in its header how long the video is. MP4 says how long its last frame is.
  const duration = (await track.getDurationFromMetadata()) ?? (await track.computeDuration());
  return { packets, settings: await track.getDecoderConfig(), duration };
}
