import { randomBytes } from 'node:crypto';

/**
 * A file in a multipart body. A stream is sent while it is read, and destroyed at the end of the call. A call with a stream
 * is never retried.
 */
export type UploadFile = Uint8Array | Blob | AsyncIterable<Uint8Array>;

export type Segments = readonly (Uint8Array | AsyncIterable<Uint8Array>)[];

type Fields = { readonly [name: string]: Field };
type Field = string | number | boolean | undefined | UploadFile | readonly Field[] | Fields;

/** Encodes fields as `multipart/form-data`. Names of list items and object fields have brackets. Files come last. */
export function multipart(fields: object): { contentType: string; segments: Segments } {
  const boundary = `playwright-pool-${randomBytes(16).toString('hex')}`;
  const sorted = leaves('', fields as Fields).toSorted(([, a], [, b]) => Number(isFile(a)) - Number(isFile(b)));
  const segments = sorted.flatMap(([name, value]) => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"`;
    if (!isFile(value)) return [Buffer.from(`${head}\r\n\r\n${value}\r\n`)];
    const file = value instanceof Blob ? (value.stream() as AsyncIterable<Uint8Array>) : value;
    // The service recognizes a file by its filename.
    return [
      Buffer.from(`${head}; filename="file"\r\nContent-Type: application/octet-stream\r\n\r\n`),
      file,
      Buffer.from('\r\n'),
    ];
  });
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    segments: [...segments, Buffer.from(`--${boundary}--\r\n`)],
  };
}

type Leaf = [name: string, value: string | number | boolean | UploadFile];

function leaves(name: string, value: Field): Leaf[] {
  if (value === undefined) return [];
  if (typeof value !== 'object' || isFile(value)) return [[name, value]];
  return Object.entries(value).flatMap(([key, item]) => leaves(name === '' ? key : `${name}[${key}]`, item));
}

function isFile(value: NonNullable<Field>): value is UploadFile {
  return (
    value instanceof Uint8Array || value instanceof Blob || (typeof value === 'object' && Symbol.asyncIterator in value)
  );
}

/** Escapes a name like browsers do. */
function escaped(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
