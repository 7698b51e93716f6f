// Joins pictures to an animated WebP. Browsers encode single pictures only; the container is
// https://developers.google.com/speed/webp/docs/riff_container.

/**
 * Scales the frames `{ png, ms }` to a width in pixels, and joins them. `page` is a page of Chromium, which encodes them:
 * of each frame only the rectangle that differs from the frame before. Returns a buffer.
 */
export async function animatedWebp(page, frames, { width, quality }) {
  const [{ height }] = await page.evaluate(scaledSize, [frames[0].png.toString('base64'), width]);
  const parts = [];
  for (const { png, ms } of frames) {
    const part = await page.evaluate(encodedDifference, { png: png.toString('base64'), width, height, quality });
    if (part) parts.push({ ...part, ms, image: imageChunk(Buffer.from(part.webp, 'base64')) });
    else parts.at(-1).ms += ms;
  }
  const header = Buffer.alloc(10);
  header[0] = 0b10; // It is an animation.
  header.writeUIntLE(width - 1, 4, 3);
  header.writeUIntLE(height - 1, 7, 3);
  const endless = Buffer.alloc(6);
  const body = Buffer.concat([
    Buffer.from('WEBP'),
    chunk('VP8X', header),
    chunk('ANIM', endless),
    ...parts.map((part) => chunk('ANMF', Buffer.concat([frameHeader(part), part.image]))),
  ]);
  return chunk('RIFF', body);
}

function frameHeader({ x, y, width, height, ms }) {
  const header = Buffer.alloc(16);
  for (const [index, value] of [x / 2, y / 2, width - 1, height - 1, ms].entries())
    header.writeUIntLE(value, index * 3, 3);
  header[15] = 0b10; // It replaces the pixels below.
  return header;
}

function chunk(name, data) {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(data.length);
  return Buffer.concat([Buffer.from(name), length, data, Buffer.alloc(data.length % 2)]);
}

/** The chunk of the picture in a WebP without transparency. Before it there may be a colour profile. */
function imageChunk(webp) {
  for (let at = 12; at < webp.length;) {
    const length = 8 + webp.readUInt32LE(at + 4);
    if (webp.toString('latin1', at, at + 4) === 'VP8 ') return webp.subarray(at, at + length + (length % 2));
    at += length + (length % 2);
  }
  throw new Error('Chromium made a WebP without a lossy picture');
}

/** Runs in the page. */
async function scaledSize([png, width]) {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  return [{ height: 2 * Math.round((width * image.height) / image.width / 2) }];
}

/** Runs in the page. `undefined` if nothing differs from the frame before. */
async function encodedDifference({ png, width, height, quality }) {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  // It runs in the page, so it can't be outside.
  // oxlint-disable-next-line unicorn/consistent-function-scoping
  const canvasOf = (width, height) =>
    Object.assign(document.createElement('canvas'), { width, height }).getContext('2d', {
      alpha: false,
      willReadFrequently: true,
    });
  const context = canvasOf(width, height);
  context.imageSmoothingQuality = 'high';
  context.drawImage(image, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  const before = globalThis.frameBefore;
  globalThis.frameBefore = data;
  const box = { left: width, top: height, right: -1, bottom: -1 };
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const at = 4 * (y * width + x);
      if (before && data[at] === before[at] && data[at + 1] === before[at + 1] && data[at + 2] === before[at + 2])
        continue;
      box.left = Math.min(box.left, x);
      box.right = Math.max(box.right, x);
      box.top = Math.min(box.top, y);
      box.bottom = y;
    }
  if (box.right < 0) return undefined;
  // A rectangle begins at even numbers.
  const [x, y] = [box.left & ~1, box.top & ~1];
  const size = { width: box.right + 1 - x, height: box.bottom + 1 - y };
  const part = canvasOf(size.width, size.height);
  part.drawImage(context.canvas, -x, -y);
  const [, webp] = part.canvas.toDataURL('image/webp', quality).split(',');
  return { x, y, ...size, webp };
}
